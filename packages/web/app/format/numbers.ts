const whole = new Intl.NumberFormat('en-US');
const oneDigit = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** 412,380; from a million on 2.4 million, exact elsewhere. */
export function formatCount(value: number): string {
  if (value >= 1e9) return `${oneDigit.format(value / 1e9)} billion`;
  return value >= 1e6 ? `${oneDigit.format(value / 1e6)} million` : whole.format(value);
}

export function formatExact(value: number): string {
  return whole.format(value);
}

const byteUnits = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Decimal units, three digits that matter. */
export function formatBytes(value: number): string {
  if (value < 1000) return value === 1 ? '1 byte' : `${value} bytes`;
  let [size, unit] = [value, 0];
  while (size >= 999.5 && unit < byteUnits.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${size >= 100 ? Math.round(size) : size.toFixed(1)} ${byteUnits[unit]}`;
}

function formatMoney(value: number): string {
  if (value > 0 && value < 0.01) return 'under $0.01';
  return money.format(value);
}

/** An estimate, not a bill. */
export function formatAboutMoney(value: number): string {
  return value > 0 && value < 0.01 ? formatMoney(value) : `about ${formatMoney(value)}`;
}

/** 1 min 48 s; under a second in milliseconds. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return ms < 9950 ? `${oneDigit.format(ms / 1000)} s` : `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${Math.floor(hours / 24)} d`;
}

/** The next round number for a scale: 1, 2 or 5 and zeros. */
export function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return Math.max(2, ([1, 2, 5, 10].find((step) => step * unit >= value) ?? 10) * unit);
}

/** Shortens an id in the middle, because both ends tell ids apart. */
export function shortenId(id: string, keep = 14): string {
  return id.length <= keep + 3 ? id : `${id.slice(0, keep - 4)}…${id.slice(-4)}`;
}

export function plural(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}
