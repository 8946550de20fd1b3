# SPDX-License-Identifier: Apache-2.0
"""A web application with a secret, by MSAL: it sends a person's browser to sign in, and gets it back with a code."""

import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

import msal

SCOPES = ["https://api.estate.example/collab/App.ReadWrite.All"]


class Application(BaseHTTPRequestHandler):
    """The one page of the application, to which the browser comes back."""

    def do_GET(self) -> None:
        answer = dict(parse_qsl(urlsplit(self.path).query))
        if answer:
            print(json.dumps(app.acquire_token_by_auth_code_flow(flow, answer)), flush=True)
        self.send_response(200 if answer else 404)
        self.end_headers()
        self.wfile.write(b"You are signed in at the application.")

    def log_message(self, *_: object) -> None:
        """Nothing but JSON goes to the output."""


app = msal.ConfidentialClientApplication(
    os.environ["WEB_APP_ID"],
    authority=f"{os.environ['AUTHORITY_HOST']}/{os.environ['TENANT_ID']}",
    client_credential=os.environ["WEB_APP_SECRET"],
    instance_discovery=False,
)
with HTTPServer(("127.0.0.1", 0), Application) as server:
    flow = app.initiate_auth_code_flow(SCOPES, redirect_uri=f"http://localhost:{server.server_port}/signed-in")
    print(json.dumps({"opened": flow["auth_uri"]}), flush=True)
    server.handle_request()
