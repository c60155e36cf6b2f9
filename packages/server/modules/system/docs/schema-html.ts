import { nameOf, type Schema, schemaOf } from './document.ts';
import { escapeHtml, inline } from './html.ts';

/** The possible values in a few words; a named schema is a link to its description. */
export function typeHtml(schema: Schema): string {
  if (schema.$ref) {
    const name = escapeHtml(nameOf(schema.$ref));
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.const !== undefined) return `<code>${escapeHtml(JSON.stringify(schema.const))}</code>`;
  if (schema.enum) return schema.enum.map((value) => `<code>${escapeHtml(String(value))}</code>`).join(' or ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(typeHtml))].join(' or ');
  if (schema.type === 'array') return `list of ${typeHtml(schema.items ?? {})}`;
  const type = Array.isArray(schema.type) ? schema.type.join(' or ') : (schema.type ?? 'anything');
  return escapeHtml(schema.format ? `${type} (${schema.format})` : type);
}

/** The bounds that a caller might exceed; bounds that any sensible value satisfies are left out. */
function bounds({ minimum, maximum, minLength, maxLength, minItems, maxItems, default: given }: Schema): string {
  const sensible = (value: number | undefined) => value !== undefined && Math.abs(value) < 2 ** 31 - 1;
  const parts = [
    sensible(minimum) && minimum !== 0 ? `at least ${minimum}` : '',
    sensible(maximum) ? `at most ${maximum}` : '',
    (minLength ?? 0) > 1 ? `at least ${minLength} characters` : '',
    maxLength && maxLength <= 256 ? `at most ${maxLength} characters` : '',
    minItems ? `at least ${minItems}` : '',
    maxItems && maxItems <= 1000 ? `at most ${maxItems} entries` : '',
    given === undefined ? '' : `default ${JSON.stringify(given)}`,
  ].filter((part) => part !== '');
  return parts.length > 0 ? ` <small>${escapeHtml(parts.join(', '))}</small>` : '';
}

const nestedMax = 4;

/** The fields of an object with their meaning, including those of unnamed objects below it. */
function fieldsHtml(schema: Schema, depth = 0): string {
  const rows = fieldsOf(schema).map(({ name, field, isRequired }) => {
    const below = depth < nestedMax ? unnamedBelow(field) : undefined;
    const note = field.description ?? (field.$ref ? schemaOf(field).description : undefined);
    return `<tr><th scope="row"><code>${escapeHtml(name)}</code>${isRequired ? '' : '<small> optional</small>'}</th><td>${typeHtml(field)}${bounds(field)}${note ? `<br>${inline(note)}` : ''}${below ? fieldsHtml(below, depth + 1) : ''}</td></tr>`;
  });
  return rows.length > 0 ? `<table>${rows.join('')}</table>` : '';
}

function fieldsOf(schema: Schema): { name: string; field: Schema; isRequired: boolean }[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    // A field named like a keyword of the document is declared by its pattern.
    const declared = property === true ? schema.patternProperties?.[`^${name}$`] : property;
    return { name, field: (declared || {}) as Schema, isRequired: required.has(name) };
  });
}

function unnamedBelow(field: Schema): Schema | undefined {
  if (field.$ref) return undefined;
  if (field.properties) return field;
  if (field.items) return unnamedBelow(field.items);
  return (field.anyOf ?? field.oneOf)?.find((choice) => choice.properties);
}

/** A body or an answer: its own fields, or one table per possible form. */
export function formsHtml(schema: Schema): string {
  const choices = (schema.anyOf ?? schema.oneOf)?.filter((choice) => choice.type !== 'null');
  if (!choices) return schema.$ref ? `<p>${typeHtml(schema)}</p>` : fieldsHtml(schema);
  return choices
    .map((choice, index) => `<p>${index > 0 ? 'Or ' : ''}${typeHtml(choice)}</p>${fieldsHtml(choice)}`)
    .join('');
}

/** The names of all fields, for the search. */
export function fieldNames(schema: Schema, depth = 0): string[] {
  if (depth > nestedMax) return [];
  const own = fieldsOf(schema).flatMap(({ name, field }) => [name, ...fieldNames(field, depth + 1)]);
  const inside = [schema.items, ...(schema.anyOf ?? schema.oneOf ?? [])].flatMap((part) =>
    part && !part.$ref ? fieldNames(part, depth + 1) : [],
  );
  return [...own, ...inside];
}
