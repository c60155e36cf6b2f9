import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  allowedEvents,
  eventNames,
  events,
  invalidSubscriptions,
  simpleEnvelope,
  standardEnvelope,
  subscriptionMatches,
} from './events.ts';

describe.each(Object.values(events).map((event) => [event.name, event] as const))('%s', (_, event) => {
  test('has a sample in each format that matches its schema, without unknown fields', () => {
    for (const { data, sample } of Object.values(event.formats)) expect(data.parse(sample)).toEqual(sample);
  });

  test('fits the envelope of each format', () => {
    const timestamp = '2026-03-01T02:01:25.500Z';
    const metadata = { attempt: 1, deliveryId: 'dlv_1' };
    const { standard, simple } = event.formats;
    expect(
      standardEnvelope.safeParse({ id: 'evt_1', type: event.name, timestamp, data: standard?.sample, metadata })
        .success,
    ).toBe(true);
    if (simple)
      expect(simpleEnvelope.safeParse({ event: event.name, timestamp, data: simple.sample }).success).toBe(true);
  });

  test('has null for unknown values in the simple format, never a missing field', () => {
    const { simple } = event.formats;
    if (!simple) return;
    const shape = (simple.data as z.ZodObject).shape;
    expect(Object.keys(simple.sample).sort()).toEqual(Object.keys(shape).sort());
  });
});

test('the simple format knows exactly the nine events of the interface', () => {
  const ofJobs = ['backup', 'restore'].flatMap((job) => [`${job}.started`, `${job}.completed`, `${job}.failed`]);
  expect(allowedEvents('simple')).toEqual([...ofJobs, 'schedule.created', 'schedule.updated', 'schedule.deleted']);
  expect(Object.values(events).filter((event) => event.formats.simple)).toHaveLength(9);
});

test('the standard format knows every event', () => {
  expect(allowedEvents('standard')).toEqual(eventNames);
  expect(eventNames).toHaveLength(30);
});

describe('a subscription', () => {
  test.each([
    ['*', 'backup.started', true],
    ['backup.*', 'backup.started', true],
    ['backup.*', 'backup.invented_later', true],
    ['backup.*', 'backups.started', false],
    ['backup.*', 'restore.started', false],
    ['backup.started', 'backup.started', true],
    ['backup', 'backup.started', false],
    ['back*', 'backup.started', false],
    ['.*', 'backup.started', false],
  ])('%s on %s: %s', (subscription, event, expected) => {
    expect(subscriptionMatches(subscription, event)).toBe(expected);
  });

  test('that can match no event of its format is listed as invalid', () => {
    expect(
      invalidSubscriptions('standard', ['*', 'backup.*', 'member.joined', 'backup.exploded', 'backup', '']),
    ).toEqual(['backup.exploded', 'backup', '']);
    expect(invalidSubscriptions('simple', ['*', 'backup.*', 'pitr.*', 'backup.progress', 'member.joined'])).toEqual([
      'pitr.*',
      'backup.progress',
      'member.joined',
    ]);
  });
});
