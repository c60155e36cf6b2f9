import { z } from 'zod';
import { text, timestamp } from './primitives.ts';

const check = z.enum(['ok', 'error', 'not configured', 'unknown']);

export const health = z
  .object({
    status: z.enum(['healthy', 'degraded', 'unhealthy']),
    version: text({ max: 50 }).describe('The running version.'),
    timestamp: timestamp(),
    checks: z.object({ database: check, redis: check, storage: check }),
    message: text({ max: 500 }).optional().describe('What is wrong with the database, when it does not do its work.'),
    houseKeeping: z
      .object({ status: z.enum(['ok', 'late']), late: z.array(text({ max: 100 })).max(100) })
      .describe('Periodic work that should have succeeded long ago makes the service degraded.'),
  })
  .meta({ id: 'Health', description: 'How the service is.' });

export const probe = z
  .object({ status: z.enum(['ok', 'unavailable']) })
  .meta({ id: 'Probe', description: 'The answer to an orchestrator.' });
