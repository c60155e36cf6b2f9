import { expect, test } from 'vitest';
import { type Sighting, Timeline } from './timeline.ts';

const at = (n: number) => `2026-01-01T00:00:0${n}.000000000Z`;
const backup = (n: number, updated: number | null): Sighting =>
  updated === null
    ? { kind: 'absent', at: at(n), source: 'backup', backupId: `bkp_${n}`, isExact: false }
    : {
        kind: 'present',
        at: at(updated),
        updateTime: at(updated),
        isFirst: updated === 1,
        source: 'backup',
        backupId: `bkp_${n}`,
      };
const log = (n: number, isPut: boolean): Sighting =>
  isPut
    ? { kind: 'present', at: at(n), updateTime: at(n), isFirst: false, source: 'pitr', backupId: null }
    : { kind: 'absent', at: at(n), source: 'pitr', backupId: null, isExact: true };
const told = (sightings: Sighting[]) => {
  const timeline = new Timeline();
  return sightings
    .flatMap((one) => timeline.add(one))
    .map(({ at: when, source, change }) => `${when[18]} ${source} ${change}`);
};

test('a version in many backups is one version', () => {
  expect(told([backup(5, 3), backup(4, 3), backup(2, 1)])).toEqual(['3 backup changed', '1 backup created']);
});

test('a deletion is told at the oldest time the document was missing', () => {
  expect(told([backup(6, null), backup(5, null), backup(2, 1)])).toEqual(['5 backup deleted', '1 backup created']);
});

test('the log knows the moment of a deletion, and a backup behind it says nothing new', () => {
  expect(told([backup(6, null), log(4, false), log(3, true), backup(2, 1)])).toEqual([
    '4 pitr deleted',
    '3 pitr changed',
    '1 backup created',
  ]);
});

test('what was never there has no history', () => {
  expect(told([backup(6, null), backup(5, null)])).toEqual([]);
});
