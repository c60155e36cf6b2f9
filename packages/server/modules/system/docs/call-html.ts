import { type ErrorCode, errorDefinition, errorsOf, type Operation } from '@holdfast/contract';
import { answerOf, type Call, type Media, parameterOf } from './document.ts';
import { exampleOf } from './example.ts';
import { escapeHtml, inline, json, prose, searchable } from './html.ts';
import { fieldNames, formsHtml, typeHtml } from './schema-html.ts';

/** One call: its parameters, its answers, and an example of each. */
export function callHtml(operation: Operation, call: Call): string {
  const { id, method, path } = operation;
  const words = [
    id,
    method,
    path,
    call.tags[0],
    call.summary,
    call.description,
    ...errorsOf(operation),
    ...names(call),
  ];
  return `<details class="entry" id="${id}" data-words="${searchable(words)}">
<summary><span class="method ${method.toLowerCase()}">${method}</span> <code>${escapeHtml(path)}</code> <span class="summary">${escapeHtml(call.summary)}</span></summary>
<div class="inside">${prose(call.description)}<p class="soft">In the typed client: <code>${id}</code></p>
${parametersHtml(call)}${bodyHtml(operation, call)}${answersHtml(operation, call)}${errorsHtml(errorsOf(operation))}</div></details>`;
}

function names(call: Call): string[] {
  const body = Object.values(call.requestBody?.content ?? {}).flatMap(({ schema }) => fieldNames(schema));
  return [...call.parameters.map((parameter) => parameterOf(parameter).name), ...body];
}

function parametersHtml(call: Call): string {
  if (call.parameters.length === 0) return '';
  const rows = call.parameters
    .map(parameterOf)
    .map(
      ({ name, in: place, required, description, schema }) =>
        `<tr><th scope="row"><code>${escapeHtml(name)}</code><small> ${place}${required ? '' : ', optional'}</small></th><td>${typeHtml(schema)}${description ? `<br>${inline(description)}` : ''}</td></tr>`,
    );
  return `<h4>Parameters</h4><table>${rows.join('')}</table>`;
}

function bodyHtml(operation: Operation, call: Call): string {
  const media = call.requestBody?.content['application/json'];
  const request = `<h4>Example</h4><pre><code>${escapeHtml(curl(operation, media?.examples?.sample?.value))}</code></pre>`;
  if (!media) return request;
  return `<h4>Body${call.requestBody?.required ? '' : ' (may be left out)'}</h4>${formsHtml(media.schema)}${request}`;
}

/** The call as a shell command. */
function curl({ method, path, access, success }: Operation, body: unknown): string {
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}"$HOLDFAST_URL${path}"`];
  if (access.kind !== 'public') lines.push('-H "Authorization: Bearer $HOLDFAST_TOKEN"');
  if (access.kind === 'organization') lines.push('-H "X-Organization-Id: $HOLDFAST_ORGANIZATION"');
  if (success.kind === 'stream') lines.push('--no-buffer');
  if (body !== undefined) {
    const text = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    lines.push('-H "Content-Type: application/json"', `-d '${text}'`);
  }
  return lines.join(' \\\n  ');
}

function answersHtml(operation: Operation, call: Call): string {
  const good = [operation.success, ...(operation.alternatives ?? [])].map(({ status }) => String(status));
  const parts = [...new Set(good)].map((status) => {
    const answer = call.responses[status];
    if (!answer) return '';
    const { description, content } = answerOf(answer);
    const forms = Object.entries(content ?? {}).map(([type, media]) => mediaHtml(type, media));
    return `<h4>Answer ${status}</h4><p>${inline(description)}</p>${forms.join('')}`;
  });
  return parts.join('');
}

function mediaHtml(type: string, { schema }: Media): string {
  const shown = schema.contentSchema ?? schema;
  const isJson = type === 'application/json';
  const label = isJson ? '' : `<p><code>${escapeHtml(type)}</code></p>`;
  const example = isJson || schema.contentSchema ? json(exampleOf(shown)) : '';
  return `${label}${formsHtml(shown)}${example}`;
}

function errorsHtml(codes: readonly ErrorCode[]): string {
  const rows = codes.map(
    (code) =>
      `<li><a href="#error-${code}"><code>${code}</code></a> <small>${errorDefinition(code).status}</small></li>`,
  );
  return `<h4>Errors</h4><ul class="errors">${rows.join('')}</ul>`;
}
