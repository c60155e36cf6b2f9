import { Problem } from '../../platform/problem.ts';
import type { Moments } from './context.ts';

function unavailable(): Promise<never> {
  return Promise.reject(
    new Problem('POINT_IN_TIME_UNAVAILABLE', 'Point-in-time recovery is not switched on for this project.', {
      details: { before: null, after: null },
    }),
  );
}

/** Where nothing keeps the past between backups. */
export const noMoments: Moments = { require: unavailable, open: unavailable, destinationOf: unavailable };
