import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { codeBlock } from '../../testing/documentation.ts';
import { foundOrganization } from '../../testing/team.ts';
import { startTestApp } from '../../testing/test-app.ts';

test('an export of the audit log is checked as the documentation says, and a change, a gap or a wrong order is found', async () => {
  const app = await startTestApp();
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-audit-'));
  try {
    const { id, owner } = await foundOrganization(app);
    const asOwner = { token: owner.token, organizationId: id };
    for (const name of ['Größe "1"', 'b\n\u2028', '=3'])
      await app.request('PUT', '/api/v1/organizations/current', { ...asOwner, body: { name } });
    const { text } = await app.request('GET', '/api/v1/audit-logs/export?format=ndjson', asOwner);
    const lines = text.trim().split('\n');
    expect(lines.length).toBeGreaterThan(3);
    await writeFile(join(folder, 'check-audit-log.mjs'), codeBlock('docs/audit-log.md', 'check-audit-log.mjs'));
    const check = async (rows: string[]) => {
      await writeFile(join(folder, 'log.ndjson'), rows.join('\n'));
      const run = promisify(execFile)('node', ['check-audit-log.mjs', 'log.ndjson'], { cwd: folder });
      return run.then(
        ({ stdout }) => stdout,
        ({ stderr }: { stderr: string }) => stderr,
      );
    };
    const count = lines.length;
    expect(await check(lines)).toBe(
      `Rows 1 to ${count} fit. The last hash is ${JSON.parse(lines[0] as string).hash}.\n`,
    );
    expect(await check(lines.slice(0, -2)), 'the oldest are gone').toContain(`Rows 3 to ${count} fit.`);
    const changed = lines.map((line, index) => (index === 1 ? line.replace('"action":"', '"action":"x') : line));
    for (const broken of [
      changed,
      lines.toSpliced(1, 1),
      lines.with(0, lines[1] as string).with(1, lines[0] as string),
    ])
      expect(await check(broken)).toMatch(/Error: aud_\w+ of \S+ does not fit/);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await app.close();
  }
});
