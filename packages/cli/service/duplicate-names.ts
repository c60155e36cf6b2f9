import { HoldfastError } from '@holdfast/contract/client';

interface Named {
  readonly id: string;
  readonly name: string;
}

/**
 * Warns right after something was added with an existing name: from then on the name alone identifies neither of them.
 */
export async function warnAboutDuplicateName(all: AsyncIterable<Named>, added: Named, kind: string): Promise<void> {
  try {
    for await (const { id, name } of all)
      if (name === added.name && id !== added.id) {
        const both = `Another ${kind} is called ${added.name} too (${id}): from now on name them by their ids.`;
        process.stderr.write(`${both}\n`);
        return;
      }
  } catch (error) {
    // A key may add things that it cannot list.
    if (!(error instanceof HoldfastError && error.status === 403)) throw error;
  }
}
