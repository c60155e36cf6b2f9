/** A RunQueryRequest as REST takes it: the parent in the path, the rest as JSON. */

import { instantFromParts } from '../../../ports/index.ts';
import type { JsonMessage } from '../protos.ts';

export function restRequest({ parent, structuredQuery, readTime }: JsonMessage): { path: string; body: string } {
  const { limit, ...query } = structuredQuery as { limit?: { value: number } };
  const { seconds, nanos } = readTime as { seconds: number; nanos: number };
  const json = {
    structuredQuery: { ...query, ...(limit === undefined ? {} : { limit: limit.value }) },
    readTime: instantFromParts(seconds, nanos),
  };
  // Without this, a third of the response would be spaces and line breaks.
  const path = `/v1/${String(parent).split('/').map(encodeURIComponent).join('/')}:runQuery?prettyPrint=false`;
  return { path, body: JSON.stringify(json) };
}
