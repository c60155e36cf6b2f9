import { EngineError } from '../ports/errors.ts';

/** A wrapped data key, as it is stored unencrypted in a manifest root. */
export interface Envelope {
  readonly kind: 'passphrase' | 'key';
  readonly keyId: string;
  readonly salt?: string;
  readonly iterations?: number;
  readonly wrapSalt: string;
  readonly iv: string;
  readonly wrapped: string;
  readonly commitment: string;
}

/** Fewer iterations make guessing cheap; more would let a foreign file stall its reader. */
const iterationsMin = 100_000;
const iterationsMax = 10_000_000;

export function envelopeAad(ownerId: string, envelope: Pick<Envelope, 'kind' | 'salt' | 'iterations'>): Uint8Array {
  const text = `holdfast/1 envelope ${ownerId} ${envelope.kind} ${envelope.salt ?? '-'} ${envelope.iterations ?? '-'}`;
  return Buffer.from(text, 'utf8');
}

/** Checks every field before any of it reaches a cipher. */
export function parseEnvelope(given: unknown): Envelope {
  const envelope = given as Partial<Record<keyof Envelope, unknown>> | null;
  const isWhole =
    typeof envelope === 'object' &&
    envelope !== null &&
    isHex(envelope.keyId, 8) &&
    isHex(envelope.wrapSalt, 32) &&
    isHex(envelope.iv, 12) &&
    isHex(envelope.wrapped, 48) &&
    isHex(envelope.commitment, 32) &&
    hasDerivation(envelope);
  if (!isWhole) throw new EngineError('INTEGRITY_ERROR', 'The key envelope is damaged.');
  return envelope as Envelope;
}

function hasDerivation(envelope: Partial<Record<keyof Envelope, unknown>>): boolean {
  if (envelope.kind === 'key') return envelope.salt === undefined && envelope.iterations === undefined;
  const { iterations } = envelope;
  const isSensible =
    Number.isInteger(iterations) && Number(iterations) >= iterationsMin && Number(iterations) <= iterationsMax;
  return envelope.kind === 'passphrase' && isSensible && isHex(envelope.salt, 16);
}

function isHex(value: unknown, bytes: number): boolean {
  return typeof value === 'string' && value.length === bytes * 2 && /^[0-9a-f]*$/.test(value);
}
