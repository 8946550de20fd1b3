-- SPDX-License-Identifier: Apache-2.0
-- The databases of SOGo and Synapse. Synapse requires the locale C.
CREATE ROLE sogo LOGIN PASSWORD '@SOGO_DATABASE_PASSWORD@';
CREATE DATABASE sogo OWNER sogo ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0;
CREATE ROLE synapse LOGIN PASSWORD '@SYNAPSE_DATABASE_PASSWORD@';
CREATE DATABASE synapse OWNER synapse ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0;
