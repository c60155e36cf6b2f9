import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Change } from '../../platform/changes.ts';
import type { OverviewContext } from './context.ts';
import { followChanges } from './follow-changes.ts';

const follower = {
  organization: { id: 'org_1', role: 'viewer' },
  principal: { kind: 'person', sessionId: 'ses_1' },
} as Parameters<typeof followChanges>[1];
const change = (kind: string): Change => ({
  organizationId: 'org_1',
  kind,
  id: 'x_1',
  change: 'updated',
  projectId: null,
});

test('changes during the start of following are sent, and end the stream where they must, without an error', async () => {
  let stopped = 0;
  const follow = async (_id: string, listener: (change: Change) => void) => {
    for (const kind of ['backup', 'member', 'schedule']) listener(change(kind));
    return () => void stopped++;
  };
  const platform = { changes: { follow }, clock: { now: () => new Date() } };
  const context = { platform, isSessionOpen: async () => true } as unknown as OverviewContext;
  const stream = await followChanges(context, follower, new AbortController().signal);
  const told = await text(stream);
  expect(told).toContain('"kind":"member"');
  expect(told).not.toContain('schedule');
  expect(stopped).toBeGreaterThan(0);
});
