import { z } from 'zod';
import { jobErrorDetails } from '../error-details.ts';
import type { JobErrorCode } from '../errors.ts';
import { jobErrorCodes } from '../errors.ts';
import { bytes, count, integer, percent, text } from './primitives.ts';

/** Common fields of backups, restores, drills and storage tasks. */

export const jobStatuses = ['pending', 'running', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const jobError = z
  .object({
    code: z.enum(jobErrorCodes as [JobErrorCode, ...JobErrorCode[]]),
    message: text({ max: 2000 }),
    details: jobErrorDetails.optional(),
    retryable: z.boolean().describe('Whether trying again unchanged can help.'),
    advice: text({ max: 1000 }).describe('How to fix it.'),
  })
  .meta({ id: 'JobError', description: 'Why a job ended early.' });
export type JobError = z.infer<typeof jobError>;

export const progress = z
  .object({
    percent: percent(),
    phase: text({ max: 50 }),
    documents: count().describe('Documents done so far.'),
    documentsTotal: count().nullable().describe('All there are to do, where that is known.'),
    bytes: bytes().describe('Bytes done so far.'),
    etaSeconds: integer({ min: 0, max: 31_536_000 }).nullable().describe('Estimated seconds left; null if unknown.'),
    waitingFor: text({ max: 500 }).nullable().describe('What the job waits for at the moment, if anything.'),
  })
  .meta({ id: 'Progress', description: 'The progress of a job.' });

export const currency = z.literal('USD');
/** Money is an estimate from list prices; this service never bills it. */
export const money = () => z.number().min(0).max(1e12).meta({ format: 'double' });
export const seconds = () => z.number().min(0).max(1e12).meta({ format: 'double' });
