import { expect, test } from 'vitest';
import { chainLinks } from '../app/pages/backups/chain-links.ts';

const row = (
  id: string,
  parentId: string | null,
  projectId = 'shop',
  status: 'completed' | 'failed' = 'completed',
) => ({
  id,
  parentId,
  projectId,
  status,
});
const drawn = (rows: ReturnType<typeof row>[]) =>
  chainLinks(rows).map(({ up, down }) => `${up ? '╵' : ''}${down ? '╷' : ''}`);

test('the line of a chain goes by what failed in between', () => {
  expect(drawn([row('c', 'b'), row('x', 'b', 'shop', 'failed'), row('b', 'a'), row('a', null)])).toEqual([
    '╷',
    '╵╷',
    '╵╷',
    '╵',
  ]);
});

test('no line is drawn through a row of another project', () => {
  const rows = [row('b', 'a'), row('r', null, 'rides'), row('a', null), row('s', 'r', 'rides')];
  expect(drawn(rows)).toEqual(['', '', '', '']);
  expect(drawn([row('r', null, 'rides'), row('b', 'a'), row('a', null)])).toEqual(['', '╷', '╵']);
});
