import type { Backup } from '@holdfast/contract';

type Linked = Pick<Backup, 'id' | 'parentId' | 'projectId' | 'status'>;

/**
 * Which neighbours in the shown order belong to one chain: an increment is tied to its parent below. A row of another project
 * in between belongs to no line of this one, so that such a parent is not tied.
 */
export function chainLinks(rows: readonly Linked[]): { up: boolean; down: boolean }[] {
  const at = new Map(rows.map((backup, index) => [backup.id, index]));
  const links = rows.map(() => ({ up: false, down: false }));
  rows.forEach((backup, index) => {
    const parent = backup.parentId === null ? undefined : at.get(backup.parentId);
    if (parent === undefined || parent <= index || backup.status !== 'completed') return;
    for (let row = index; row < parent; row++) if (rows[row]?.projectId !== backup.projectId) return;
    // The line passes by the rows between them; a chain is short, and so is the way.
    for (let row = index; row < parent; row++) {
      links[row] = { up: links[row]?.up ?? false, down: true };
      links[row + 1] = { up: true, down: links[row + 1]?.down ?? false };
    }
  });
  return links;
}
