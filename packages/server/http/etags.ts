import { createHash } from 'node:crypto';
import { allOperations, type Operation } from '@holdfast/contract';
import { Problem } from '../platform/problem.ts';
import type { AnyAnswer, AnyCall, AnyHandler, Handlers } from './call.ts';

/**
 * A tag has two parts, `"<version>.<digest>"`. The version is the row's and is compared again under the row's lock. The
 * digest is that of the whole answer, so the tag changes whenever the answer does, also with counts from other rows.
 */
export function tagOf({ etag = '""', data }: AnyAnswer): string {
  const digest = createHash('sha256').update(JSON.stringify(data)).digest('base64url').slice(0, 16);
  return `${etag.slice(0, -1)}.${digest}"`;
}

/** The resource that `If-Match` refers to, and whose tag a change returns. */
export interface Resource {
  tag(call: AnyCall): Promise<string>;
}

const changing = new Set(['PUT', 'PATCH', 'DELETE']);

/**
 * The resource that a call changes: the one at its own path, or at the parent path if the path is a property
 * (`/toggle`, `/hold`).
 */
export function resourceOf(operation: Operation, handlers: Handlers): Resource | undefined {
  const segments = operation.path.split('/');
  for (let length = segments.length; length > 0; length--) {
    const path = segments.slice(0, length).join('/');
    const found = allOperations.find((other) => other.method === 'GET' && other.etag && other.path === path);
    const read = found && (handlers[found.id as keyof Handlers] as AnyHandler | undefined);
    if (read) return { tag: async (call) => tagOf(await read({ ...call, operation: found, query: {} })) };
    if (segments[length - 1]?.startsWith('{')) return undefined;
  }
  return undefined;
}

/** Refuses a change of something that has changed since the caller read it. Something without a tag matches none. */
export async function checkIfMatch(
  operation: Operation,
  header: string | undefined,
  resource: Resource | undefined,
  call: AnyCall,
): Promise<void> {
  if (!changing.has(operation.method) || header === undefined || header.trim() === '*') return;
  const tag = await resource?.tag(call);
  if (tag === undefined || !tagsIn(header).includes(tag)) throw changedSince();
}

/** Compares only the version, under the lock of the row that is about to change. */
export function requireVersion(header: string | undefined, version: string): void {
  if (header === undefined || header.trim() === '*') return;
  if (!tagsIn(header).some((tag) => tag.replace(/\.[^.]*"$/, '"') === version)) throw changedSince();
}

function tagsIn(header: string): string[] {
  return header.split(',').map((tag) => tag.trim());
}

function changedSince(): Problem {
  return new Problem('PRECONDITION_FAILED', 'The resource has changed since the version that If-Match names.');
}
