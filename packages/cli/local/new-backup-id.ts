import { randomBytes } from 'node:crypto';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Time-ordered, then 80 random bits, so that ids sort by age and never collide. */
export function newBackupId(): string {
  let time = '';
  for (let rest = Date.now(), index = 0; index < 10; index += 1, rest = Math.floor(rest / 32))
    time = alphabet[rest % 32] + time;
  const random = [...randomBytes(16)].map((byte) => alphabet[byte % 32]).join('');
  return `bkp_${time}${random}`;
}
