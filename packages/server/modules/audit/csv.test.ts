import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readCsv } from '../../testing/read-csv.ts';
import { csvLine } from './csv.ts';

test.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '  =1',
  '＝1',
  '＋1',
  '－1',
  '＠x',
  '=HYPERLINK("x")',
])('a cell beginning like %j is made text', (value) => {
  expect(csvLine([value])).toBe(`"'${value.replaceAll('"', '""')}"\r\n`);
});

test('plain cells stay as they are, nothing is an empty cell', () => {
  expect(csvLine(['a', null, 'b c', 'x@y.z', '1-2'])).toBe('a,,b c,x@y.z,1-2\r\n');
  expect(csvLine(['a,b', 'c;d', 'e"f', 'g\nh'])).toBe('"a,b","c;d","e""f","g\nh"\r\n');
});

test('any cells can be read back, and none starts like a formula', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom(...'=+-@"\',;\t\r\n ab') }), { minLength: 1, maxLength: 5 }),
      (cells) => {
        const line = csvLine(cells);
        const [read = []] = readCsv(line);
        expect(read.map((cell, index) => (cell === `'${cells[index]}` ? cells[index] : cell))).toEqual(cells);
        for (const cell of read) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
      },
    ),
  );
});
