/** A number as text, so that none is rounded without notice. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Minus zero is a double. */
  get isWhole(): boolean {
    return /^-?\d+$/.test(this.text) && this.text !== '-0';
  }

  /**
   * The double from which the text was written; undefined when the text is more precise than a double. Writers print a
   * double with any number of digits: the double, rounded to them.
   */
  get double(): number | undefined {
    const double = Number(this.text);
    if (!Number.isFinite(double)) return undefined;
    const { digits, exponent } = decimalOf(this.text);
    if (digits === '') return double;
    if (double === 0) return undefined;
    return isRoundedTo(double, { digits, exponent }) ? double : undefined;
  }
}

/** Up to this many digits identify a double, where doubles are dense. */
const safeDigits = 15;
const safeExponent = 270;

interface Decimal {
  /** Without zeros at either end. */
  readonly digits: string;
  /** The power of ten that they are multiplied by. */
  readonly exponent: number;
}

function decimalOf(text: string): Decimal {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const written = `${whole}${fraction}`.replace(/^0+/, '');
  const digits = written.replace(/0+$/, '');
  return { digits, exponent: Number(power) - fraction.length + written.length - digits.length };
}

/** Whether the digits are the double, possibly rounded. */
function isRoundedTo(double: number, { digits, exponent }: Decimal): boolean {
  if (digits.length <= safeDigits && Math.abs(exponent) <= safeExponent) return true;
  let whole = Math.abs(double);
  let halvings = 0n;
  for (; !Number.isInteger(whole); halvings++) whole *= 2;
  // All values are multiplied to become integers; the unit is that of the last digit.
  const unit = 10n ** BigInt(Math.max(exponent, 0)) * 2n ** halvings;
  const difference = BigInt(digits) * unit - BigInt(whole) * 10n ** BigInt(Math.max(-exponent, 0));
  return 2n * (difference < 0n ? -difference : difference) <= unit;
}
