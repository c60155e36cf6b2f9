import { type ErrorDetails, notFoundByParameter, type Operation } from '@holdfast/contract';
import type { z } from 'zod';
import { invalid, Problem } from '../platform/problem.ts';

const faultsListedMax = 20;
const depthMax = 64;

export interface CheckedInput {
  params: unknown;
  query: unknown;
  body: unknown;
}

/**
 * Checks everything the caller sent against the operation's schemas; throws VALIDATION_ERROR with the first fault and a
 * list of the others.
 */
export function checkRequest(operation: Operation, raw: CheckedInput): CheckedInput {
  return {
    params: checkParams(operation, raw.params),
    query: check(operation.query, raw.query),
    body: checkBody(operation, raw.body),
  };
}

/** An impossible id is not found, like one that does not exist. */
function checkParams(operation: Operation, params: unknown): unknown {
  try {
    return check(operation.params, params);
  } catch (error) {
    const field = error instanceof Problem ? String(error.details?.field ?? '') : '';
    const code = notFoundByParameter[field];
    throw code ? new Problem(code, 'There is nothing with this id.', { cause: error }) : error;
  }
}

function check(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return {};
  refuseBrokenText(value, [], 0);
  return parse(schema, value);
}

function checkBody(operation: Operation, body: unknown): unknown {
  if (!operation.body) {
    if (body !== undefined && !isEmptyObject(body)) throw invalid('body', 'this call takes no body');
    return undefined;
  }
  if (body === undefined) {
    if (operation.bodyOptional) return undefined;
    throw invalid('body', 'a JSON body is required');
  }
  refuseBrokenText(body, [], 0);
  return parse(operation.body, body);
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function parse(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw validationProblem(result.error.issues);
}

interface Fault {
  field: string;
  reason: string;
}

function validationProblem(issues: readonly z.core.$ZodIssue[]): Problem {
  const faults = onceEach(issues.flatMap(faultsOf));
  const first = faults[0] ?? { field: 'body', reason: 'is not valid' };
  const details: ErrorDetails<'VALIDATION_ERROR'> = { ...first, ...eventDetails(issues[0]) };
  if (faults.length > 1) details.errors = faults.slice(0, faultsListedMax);
  return new Problem('VALIDATION_ERROR', `${first.field}: ${first.reason}`, { details });
}

/** Several faults of one value with the same sentence are reported once. */
function onceEach(faults: readonly Fault[]): Fault[] {
  return [...new Map(faults.map((fault) => [`${fault.field}\n${fault.reason}`, fault])).values()];
}

/** An unknown key is a fault of that key, not of the object around it. */
function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ field: [...path, key].join('.'), reason: 'is not a known field' }));
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0 && !saysItself(issue)) {
    const ofItsKind = issue.errors.filter((branch) => !branch.some(isOfAnotherKind));
    const branches = ofItsKind.length > 0 ? ofItsKind : issue.errors;
    const closest = branches.reduce((best, branch) => (branch.length < best.length ? branch : best));
    const nested = closest.flatMap((inner) =>
      faultsOf({ ...inner, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue),
    );
    if (nested.length > 0) return nested;
  }
  return [{ field: path.join('.') || 'body', reason: reasonOf(issue) }];
}

/** When a value matches no form at all, the schema's own sentence names every allowed form. */
function saysItself({ message, errors }: z.core.$ZodIssueInvalidUnion): boolean {
  const isWhole = ({ code, path }: z.core.$ZodIssue) => path.length === 0 && code !== 'unrecognized_keys';
  return !isStockMessage.test(message) && errors.every((branch) => branch.every(isWhole));
}

/** A caller who sent an object gets the faults of the object, not the hint that a text would also be allowed. */
function isOfAnotherKind({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'invalid_type' && path.length === 0;
}

/** In words for the caller and not for the author of the schema. A schema's own sentence is kept. */
function reasonOf(issue: z.core.$ZodIssue): string {
  if (!isStockMessage.test(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined && /received undefined/.test(issue.message)
        ? 'is required'
        : `must be ${articles[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return boundText(issue.origin, issue.minimum, 'at least');
    case 'too_big':
      return boundText(issue.origin, issue.maximum, 'at most');
    case 'invalid_value':
      return choiceText(issue.values);
    case 'invalid_union':
      return 'options' in issue && issue.options?.length ? choiceText(issue.options) : 'is not valid';
    case 'invalid_format':
      return formats[issue.format] ?? 'does not have the right form';
    default:
      return issue.message;
  }
}

const isStockMessage = /^(Invalid|Too (small|big))\b/;
const articles: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
const formats: Readonly<Record<string, string>> = {
  email: 'must be an e-mail address',
  url: 'must be an address such as https://example.com',
  datetime: 'must be a time such as 2026-03-01T12:00:00Z',
};

function choiceText(values: readonly unknown[]): string {
  return `must be ${values.length > 1 ? 'one of ' : ''}${values.map(String).join(', ')}`;
}

function boundText(origin: string, bound: number | bigint, word: string): string {
  if (origin === 'string')
    return bound === 1 && word === 'at least' ? 'must not be empty' : `must have ${word} ${bound} characters`;
  if (origin === 'array' || origin === 'set') return `must have ${word} ${bound} ${bound === 1 ? 'entry' : 'entries'}`;
  return `must be ${word} ${bound}`;
}

/** A schema may add details of its own, such as the allowed event names. */
function eventDetails(issue: z.core.$ZodIssue | undefined): Record<string, unknown> {
  return issue?.code === 'custom' && issue.params ? issue.params : {};
}

/** Refuses text that no database or file can hold: a null character, or half of a surrogate pair. */
function refuseBrokenText(value: unknown, path: string[], depth: number): void {
  if (typeof value === 'string') {
    if (value.includes('\u0000')) throw invalid(path.join('.') || 'body', 'contains a null character');
    if (!value.isWellFormed()) throw invalid(path.join('.') || 'body', 'is not well-formed Unicode');
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > depthMax) throw invalid(path[0] ?? 'body', 'is nested too deeply');
  for (const [key, item] of Object.entries(value)) {
    refuseBrokenText(key, path, depth + 1);
    refuseBrokenText(item, [...path, key], depth + 1);
  }
}
