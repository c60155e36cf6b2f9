import type { Operation } from './operation.ts';
import { type OperationId, type Operations, operations } from './operations/index.ts';

/** The names in braces. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

type PathParameters<Id extends OperationId> = Record<ParameterOf<Operations[Id]['path']>, string>;

/** The address of an operation, such as `/api/v1/backups/bkp_1`. Its parameters follow from its path. */
export function pathOf<Id extends OperationId>(
  id: Id,
  ...[params]: keyof PathParameters<Id> extends never ? [] : [PathParameters<Id>]
): string {
  return fillPath(operations[id], params ?? {});
}

export function fillPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined) throw new TypeError(`${operation.id} needs the parameter ${name}`);
    return name === operation.restParameter ? value.split('/').map(encodeSegment).join('/') : encodeSegment(value);
  });
}

/** For a name or an id that no path can contain; nothing was sent. */
export class PathSegmentError extends TypeError {}

/** A segment of dots would be resolved, and the call would reach another path than intended. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..')
    throw new PathSegmentError(`"${segment}" cannot be part of a path`);
  return encodeURIComponent(segment);
}
