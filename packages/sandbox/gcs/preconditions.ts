import { integerParameter } from './call.ts';
import { GcsError } from './errors.ts';
import type { StoredObject } from './model.ts';

export const preconditions = [
  'ifGenerationMatch',
  'ifGenerationNotMatch',
  'ifMetagenerationMatch',
  'ifMetagenerationNotMatch',
];

/** Generation 0 stands for an object that does not exist. Failing NotMatch conditions of a read mean: not modified. */
export function checkPreconditions(
  query: ReadonlyMap<string, string>,
  object: StoredObject | undefined,
  purpose: 'read' | 'write',
  prefix: '' | 'Source' = '',
): void {
  const parameter = (name: string) => integerParameter(query, `if${prefix}${name}`);
  const failed = () =>
    new GcsError('conditionNotMet', 'At least one of the pre-conditions you specified did not hold.');
  const generation = object?.generation ?? 0;
  const match = parameter('GenerationMatch');
  const notMatch = parameter('GenerationNotMatch');
  const metaMatch = parameter('MetagenerationMatch');
  const metaNotMatch = parameter('MetagenerationNotMatch');
  if (match !== undefined && match !== generation) throw failed();
  if (metaMatch !== undefined && metaMatch !== object?.metageneration) throw failed();
  const isSame = notMatch === generation || (metaNotMatch !== undefined && metaNotMatch === object?.metageneration);
  if (isSame) throw purpose === 'read' ? new GcsError('notModified', 'Not Modified') : failed();
}

/** A request that names a generation means only that one. */
export function checkGeneration(query: ReadonlyMap<string, string>, object: StoredObject, bucketName: string): void {
  const generation = integerParameter(query, 'generation');
  if (generation !== undefined && generation !== object.generation)
    throw new GcsError('notFound', `No such object: ${bucketName}/${object.name}#${generation}`);
}
