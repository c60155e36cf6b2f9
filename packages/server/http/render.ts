import type { Operation, Success } from '@holdfast/contract';
import { z } from 'zod';
import type { AnyAnswer } from './call.ts';

/** The body of a successful answer, in the envelope of its operation. */
export function renderBody(operation: Operation, answer: AnyAnswer): string {
  const kind = operation.success.kind;
  if (kind === 'bare') return typeof answer.data === 'string' ? answer.data : JSON.stringify(answer.data);
  if (kind === 'message') return JSON.stringify({ success: true, message: answer.message });
  if (kind === 'list' || kind === 'page') {
    const nextCursor = answer.nextCursor ?? null;
    return JSON.stringify({
      success: true,
      data: answer.data,
      pagination: { nextCursor, hasMore: nextCursor !== null },
      ...answer.beside,
    });
  }
  return JSON.stringify({ success: true, data: answer.data });
}

export function withoutSecrets(data: unknown, fields: readonly string[] | undefined): unknown {
  if (!fields || typeof data !== 'object' || data === null) return data;
  return { ...data, ...Object.fromEntries(fields.filter((field) => field in data).map((field) => [field, null])) };
}

/** Fails when an answer does not match the contract, also because of unknown fields. */
export function checkAnswer(operation: Operation, answer: AnyAnswer): void {
  const status = answer.status ?? operation.success.status;
  const promised = [operation.success, ...(operation.alternatives ?? [])].filter(
    (success) => success.status === status,
  );
  if (promised.length === 0) throw new Error(`${operation.id} answered ${status}, which the contract does not promise`);
  const wire: unknown = answer.data === undefined ? undefined : JSON.parse(JSON.stringify(answer.data));
  const faults = promised
    .map((success) => faultOf(success, wire) ?? faultBeside(success, answer.beside))
    .filter((fault) => fault !== undefined);
  if (faults.length === promised.length)
    throw new Error(`the answer of ${operation.id} does not match the contract: ${faults[0]}`);
}

function faultOf(success: Success, data: unknown): string | undefined {
  if (!('schema' in success) || !success.schema) return undefined;
  const schema = success.kind === 'list' ? z.array(success.schema) : success.schema;
  const result = schema.safeParse(data);
  if (!result.success) return z.prettifyError(result.error);
  const lost = lostKeys(data, result.data, '');
  return lost.length > 0 ? `fields the contract does not know: ${lost.join(', ')}` : undefined;
}

function faultBeside(success: Success, beside: object | undefined): string | undefined {
  if (success.kind !== 'list') return beside && 'nothing stands beside this answer';
  const schema = success.beside ?? z.object({});
  const result = schema.strict().safeParse(beside ?? {});
  return result.success ? undefined : z.prettifyError(result.error);
}

/** Keys that parsing dropped because no schema has them. */
function lostKeys(before: unknown, after: unknown, path: string): string[] {
  if (typeof before !== 'object' || before === null || typeof after !== 'object' || after === null) return [];
  return Object.entries(before).flatMap(([key, value]) => {
    if (!(key in after)) return [`${path}${key}`];
    return lostKeys(value, (after as Record<string, unknown>)[key], `${path}${key}.`);
  });
}
