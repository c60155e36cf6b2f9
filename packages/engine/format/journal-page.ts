import type { Version, WriteOutcome } from '../ports/document-target.ts';
import { recordKind } from '../ports/record.ts';
import { ManifestObject, manifestContent, sealManifest } from './manifest-object.ts';

/**
 * A document that somebody had changed and that a restore overwrote: saved before. A deleted document has no version.
 */
export interface SavedDocument {
  readonly path: string;
  readonly version: Version | null;
  readonly bytes: Uint8Array;
}

/** What a restore did to some documents: written or failed, with the versions before and after, and what it saved. */
export interface JournalPage {
  readonly outcomes: readonly WriteOutcome[];
  readonly saved: readonly SavedDocument[];
}

export interface JournalSeal {
  readonly ownerId: string;
  readonly dataKey: Uint8Array;
}

type PackedVersion = readonly [seconds: number, nanos: number] | null | 0;

interface PackedPage {
  readonly outcomes: readonly (readonly [string, number, string, PackedVersion, PackedVersion])[];
  readonly saved: readonly (readonly [string, number, number, string])[];
}

const noVersion = -1;
const letters = { written: 'w', failed: 'f', skipped: 's', conflict: 'c' } as const;
const results = { w: 'written', f: 'failed', s: 'skipped', c: 'conflict' } as const;

export async function sealJournalPage(page: JournalPage, seal: JournalSeal): Promise<Uint8Array> {
  const body: PackedPage = {
    outcomes: page.outcomes.map(({ path, kind, result, replaced, version }) => [
      path,
      kind,
      letters[result],
      replaced === undefined ? 0 : pack(replaced),
      pack(version),
    ]),
    saved: page.saved.map(({ path, version, bytes }) => [
      path,
      version?.seconds ?? noVersion,
      version?.nanos ?? noVersion,
      Buffer.from(bytes).toString('base64'),
    ]),
  };
  return (await sealManifest(body, { content: manifestContent.journal, ...seal })).bytes;
}

export async function openJournalPage(bytes: Uint8Array, { ownerId, dataKey }: JournalSeal): Promise<JournalPage> {
  const body = (await new ManifestObject(bytes).open(ownerId, dataKey)) as PackedPage;
  return {
    outcomes: body.outcomes.map(([path, kind, letter, replaced, version]) => ({
      path,
      kind: kind === recordKind.delete ? recordKind.delete : recordKind.put,
      result: results[letter as keyof typeof results],
      replaced: replaced === 0 ? undefined : unpack(replaced),
      version: version === 0 ? null : unpack(version),
    })),
    saved: body.saved.map(([path, seconds, nanos, base64]) => ({
      path,
      version: seconds === noVersion ? null : { seconds, nanos },
      bytes: Buffer.from(base64, 'base64'),
    })),
  };
}

function pack(version: Version | null): PackedVersion {
  return version && [version.seconds, version.nanos];
}

function unpack(packed: readonly [number, number] | null): Version | null {
  return packed && { seconds: packed[0], nanos: packed[1] };
}
