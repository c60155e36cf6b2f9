import { expect } from 'vitest';
import { database, pathOf, root } from './fixtures.ts';
import type { RawClient, RawConversation, Response } from './raw-client.ts';

const changes = ['NO_CHANGE', 'ADD', 'REMOVE', 'CURRENT', 'RESET'];

/** A listener that records one short line per response. */
export class RecordingListener {
  readonly lines: string[] = [];
  readonly responses: Response[] = [];
  readonly stream: RawConversation;
  token: Uint8Array = new Uint8Array(0);

  constructor(client: RawClient) {
    this.stream = client.converse('Listen', (response) => this.#hear(response));
  }

  add(targetId: number, target: object): this {
    this.stream.send({ database: database, addTarget: { targetId, ...target } });
    return this;
  }

  /** Waits for a snapshot of all targets, and returns the lines since the last one. */
  async snapshot(): Promise<string[]> {
    await expect.poll(() => this.lines.includes('NO_CHANGE')).toBe(true);
    return this.lines.splice(0, this.lines.indexOf('NO_CHANGE') + 1).slice(0, -1);
  }

  #hear(response: Response): void {
    this.responses.push(response);
    this.lines.push(this.#describe(response));
    if (response.targetChange?.resumeToken?.length > 0) this.token = response.targetChange.resumeToken;
  }

  #describe(response: Response): string {
    if (response.targetChange) {
      const { targetChangeType, targetIds, cause } = response.targetChange;
      return [changes[targetChangeType], ...targetIds, ...(cause ? [`cause ${cause.code}`] : [])].join(' ');
    }
    if (response.documentChange) {
      const { document, targetIds, removedTargetIds } = response.documentChange;
      return [`change ${pathOf(document)}`, ...targetIds, ...removedTargetIds.map((id: number) => `-${id}`)].join(' ');
    }
    if (response.documentDelete) return `delete ${response.documentDelete.document.slice(root.length + 1)}`;
    if (response.documentRemove) return `remove ${response.documentRemove.document.slice(root.length + 1)}`;
    return `filter ${response.filter.targetId} ${response.filter.count}`;
  }
}

export function collection(collectionId: string, more: object = {}): object {
  return { query: { parent: root, structuredQuery: { from: [{ collectionId }], ...more } } };
}
