import { isIP } from 'node:net';
import { z } from 'zod';

/** The kinds of settings; each says in a sentence what it expects. */

export const flag = z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] });

export const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

/** A list of items of one kind; the error names the first wrong item. */
export function listOf(isGood: (item: string) => boolean, wanted: string) {
  return list.superRefine((items, context) => {
    const wrong = items.find((item) => !isGood(item));
    if (wrong !== undefined) context.addIssue({ code: 'custom', message: `${JSON.stringify(wrong)} is not ${wanted}` });
  });
}

export const wholeNumber = (least: number, most?: number) => {
  const number = z.coerce.number().int().min(least);
  return most === undefined ? number : number.max(most);
};

export const key32 = z
  .string()
  .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64');

/** An address with one of these schemes, such as `https`. */
export function address(...schemes: string[]) {
  const message = `must be an address that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  return z.string().refine((text) => isAddress(text, schemes), message);
}

export const web = address('http', 'https');
/** Without a host it is a socket, named by a parameter. */
export const postgres = address('postgres', 'postgresql');

function isAddress(text: string, schemes: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, host } = new URL(text);
  const scheme = protocol.slice(0, -1);
  return schemes.includes(scheme) && text.includes('://') && (host !== '' || scheme.startsWith('postgres'));
}

export const json = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: 'custom', message: 'must be JSON' });
    return z.NEVER;
  }
});

export const hostName = z.string().regex(/^[^\s/]+$/, 'must be a name or an address, without http:// and port');

export const sender = z
  .string()
  .regex(/^[^\r\n<>@]*<?[^\s<>@]+@[^\s<>@]+>?$/, 'must be an e-mail address, such as Holdfast <backups@example.com>');

export const headers = z.string().refine((text) => {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  return pairs.every((pair) => /^\s*[\w!#$%&'*+.^`|~-]+\s*=/.test(pair) && isEncoded(pair));
}, 'must be name=value, comma-separated, with other characters percent-encoded');

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** With a number of significant bits. */
export function isSubnet(text: string): boolean {
  const [ip = '', bits = '', ...rest] = text.split('/');
  const version = isIP(ip);
  return rest.length === 0 && version !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

export const isDomain = (text: string): boolean => /^@?[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*$/u.test(text);

const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];
const isProxy = (text: string) => proxyNames.includes(text) || isIP(text) !== 0 || isSubnet(text);

export const proxies = z.string().transform((text, context): boolean | number | string[] => {
  if (['true', 'yes', 'on'].includes(text)) return true;
  if (['false', 'no', 'off'].includes(text)) return false;
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const items = text.split(',').map((item) => item.trim());
  if (items.every(isProxy)) return items;
  const message = 'must be true, false, a number of hops, or addresses and subnets of proxies, comma-separated';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const typeNames: Readonly<Record<string, string>> = {
  number: 'a number',
  int: 'a whole number',
  string: 'text',
  record: 'an object',
};

/** A fault in words. Does not contain the value, which may be a secret. */
export function faultOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${typeNames[issue.expected] ?? issue.expected}`;
  if (issue.code === 'unrecognized_keys') return `has no place for ${issue.keys.join(', ')}`;
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (issue.code === 'too_small') return tooSmall(issue.origin, issue.minimum);
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}`;
  return issue.message;
}

function tooSmall(origin: string, minimum: number | bigint): string {
  if (origin === 'array') return 'must not be empty';
  return origin === 'string' ? `must have at least ${minimum} characters` : `must be at least ${minimum}`;
}
