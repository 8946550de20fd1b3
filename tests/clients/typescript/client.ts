// SPDX-License-Identifier: Apache-2.0
// Compiled beside the generated schema.ts: the types allow the calls of a client, and reject mistakes.
import type { components, paths } from "./schema";

type Schemas = components["schemas"];
type JsonBody<Operation> = Operation extends { requestBody?: { content: { "application/json": infer Body } } } ? Body : never;
type Answer<Operation, Status extends number> = Operation extends {
  responses: Record<Status, { content: { "application/json": infer Content } }>;
}
  ? Content
  : never;

type CreateGroup = paths["/collab/v1/groups/"]["post"];
type CreateMailbox = paths["/mail/v1/mailboxes/"]["post"];

export const group: JsonBody<CreateGroup> = {
  displayName: "Vineyard",
  templateId: "7e000000-0000-4000-8000-000000000011",
  owners: null,
};
export const room: JsonBody<CreateMailbox> = {
  name: "Cellar",
  displayName: "Cellar",
  roomMailboxMetadata: { hasWhiteboard: true },
};
export const requestId = (answer: Answer<CreateGroup, 202>): string => answer.requestId;
export const code = (problem: Schemas["Problem"]): string => problem.code;
// An omitted naming has a default, so a template needs none.
export const template: Schemas["MailboxTemplateBody"] = { kind: "room", name: "Room" };

// @ts-expect-error A group needs a template.
export const withoutTemplate: JsonBody<CreateGroup> = { displayName: "Vineyard" };
// @ts-expect-error The property is displayName.
export const misspelt: JsonBody<CreateGroup> = { name: "Vineyard", templateId: "7e000000-0000-4000-8000-000000000011" };
