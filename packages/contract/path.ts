import type { Operation } from './operation.ts';
import { type OperationId, type Operations, operations } from './operations/index.ts';

/** The names in braces. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;

type PathParameters<Id extends OperationId> = Record<ParameterOf<Operations[Id]['path']>, string>;

/** Where an operation is called, such as `/api/v1/backups/bkp_1`. Which parameters it takes is read from its path. */
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

/** Of a name or an id that no path can hold; nothing was asked. */
export class PathSegmentError extends TypeError {}

/** A segment of dots would be resolved away, and the call would reach another path than the one that was meant. */
function encodeSegment(segment: string): string {
  if (segment === '' || segment === '.' || segment === '..')
    throw new PathSegmentError(`"${segment}" cannot be part of a path`);
  return encodeURIComponent(segment);
}
