import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { foundOrganization, signUp } from '../../../testing/people.ts';
import { startTestApp } from '../../../testing/test-app.ts';

test('the commands of a recovery kit name each destination as it is called, and run nothing else', async () => {
  const app = await startTestApp();
  const owner = await signUp(app, 'owner@example.com');
  const as = { token: owner.token, organizationId: await foundOrganization(app, owner) };
  const path = "ada's $(echo run) folder";
  const body = { name: 'Folder', type: 'local', path };
  const made = await app.request('POST', '/api/v1/storage-destinations', { ...as, body });
  expect(made.status, made.text).toBe(201);
  const kit = await app.request('POST', '/api/v1/organizations/current/recovery-kit', as);
  const commands = kit.text.split('\n').filter((line) => line.startsWith('holdfast '));
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const words = execFileSync('sh', ['-c', command.replace('holdfast', "printf '%s\\n'")], { encoding: 'utf8' });
    const store = words.split('\n')[words.split('\n').indexOf('--store') + 1];
    expect(store?.endsWith(path), store).toBe(true);
  }
  await app.close();
});
