/** A number as it stood in the text, so that none is rounded unseen. */
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
   * The double that the text was written from, or undefined where it says more than a double holds. Writers give a double
   * in as many digits as they like; what they write is the double itself, rounded to these digits.
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

/** So many digits stand for one double each wherever doubles are dense. */
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

/** Whether the digits are the double, or what is left of it when it is rounded to them. */
function isRoundedTo(double: number, { digits, exponent }: Decimal): boolean {
  if (digits.length <= safeDigits && Math.abs(exponent) <= safeExponent) return true;
  let whole = Math.abs(double);
  let halvings = 0n;
  for (; !Number.isInteger(whole); halvings++) whole *= 2;
  // Everything is multiplied until it is whole; the unit is that of the last digit.
  const unit = 10n ** BigInt(Math.max(exponent, 0)) * 2n ** halvings;
  const difference = BigInt(digits) * unit - BigInt(whole) * 10n ** BigInt(Math.max(-exponent, 0));
  return 2n * (difference < 0n ? -difference : difference) <= unit;
}
