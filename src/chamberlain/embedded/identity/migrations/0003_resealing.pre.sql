-- Whoever has the keys seals the signing keys anew with another one, as the worker's role.
GRANT SELECT, UPDATE ON identity.signing_keys TO chamberlain_worker;
