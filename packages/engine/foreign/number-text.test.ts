import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberText } from './number-text.ts';

const double = (text: string) => new NumberText(text).double;
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

test('a double comes back exactly from whatever digits a writer gave it', () => {
  fc.assert(
    fc.property(finite, fc.integer({ min: 17, max: 100 }), fc.integer({ min: 0, max: 5 }), (value, digits, zeros) => {
      for (const text of [String(value), value.toPrecision(digits), value.toExponential(16)]) {
        expect(double(text)).toBe(Object.is(value, -0) ? Number(text) : value);
        if (/^-?\d+\.\d+$/.test(text)) expect(double(`${text}${'0'.repeat(zeros)}`)).toBe(Number(text));
      }
    }),
  );
});

test('what is accepted says the same number again at the same precision', () => {
  const written = fc
    .tuple(fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.integer({ min: -345, max: 310 }))
    .map(([digits, exponent]) => `${digits}e${exponent}`);
  fc.assert(
    fc.property(written, (text) => {
      const value = double(text);
      if (value === undefined) return;
      const digits = text.replace(/e.*/, '').replace(/0+$/, '');
      const digitsOf = (rounded: string) => rounded.replace(/e.*/, '').replace('.', '').replace(/^0+/, '');
      const again = BigInt(digitsOf(value.toPrecision(digits.length)).slice(0, digits.length));
      // In the middle between two, writers choose either.
      const isMiddle = digitsOf(value.toPrecision(100)).replace(/0+$/, '').length === digits.length + 1;
      expect([BigInt(digits), ...(isMiddle ? [BigInt(digits) + 1n] : [])]).toContain(again);
    }),
  );
});

test('a double written to its last digit is exact, and one digit more is not', () => {
  const least = `4.940656458412465441765687928682213723650598026143247644255856825006755072702087518652998363616359923797965646954457177309266567103559397963987747960107818781263007131903114045278458171678489821036887186360569987307230500063874091535649843873124733972731696151400317153853980741262385655911710266585566867681870395603106249319452715914924553293054565444011274801297099995419319894090804165633245247571478690147267801593552386115501348035264934720193790268107107491703332226844753335720832431936092382893458368060106011506169809753078342277318329247904982524730776375927247874656084778203734469699533647017972677717585125660551199131504891101451037862738167250955837389733598993664809941164205702637090279242767544565229087538682506419718265533447265625e-324`;
  expect(double(least)).toBe(Number.MIN_VALUE);
  expect(double(least.replace('5e-324', '51e-324'))).toBeUndefined();
});

test.each(['1e-400', '1e400', '0.12345678901234567890', '9223372036854775809', '1.23e-322', '2e-324'])(
  '%s is no double',
  (text) => {
    expect(double(text)).toBeUndefined();
  },
);

test.each(['0', '-0', '0.0e5', '0e999999', '123456789012345680000', '1e23', '5e-324', '1.7976931348623157e308'])(
  '%s is one',
  (text) => {
    expect(double(text)).toBe(Number(text));
  },
);
