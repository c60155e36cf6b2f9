import type { Backup } from '@holdfast/contract';

type Linked = Pick<Backup, 'id' | 'parentId' | 'projectId' | 'status'>;

/**
 * Which neighbouring rows belong to one chain: a line ties an increment to its parent below. If a row of another project is in
 * between, no line is drawn.
 */
export function chainLinks(rows: readonly Linked[]): { up: boolean; down: boolean }[] {
  const at = new Map(rows.map((backup, index) => [backup.id, index]));
  const links = rows.map(() => ({ up: false, down: false }));
  rows.forEach((backup, index) => {
    const parent = backup.parentId === null ? undefined : at.get(backup.parentId);
    if (parent === undefined || parent <= index || backup.status !== 'completed') return;
    for (let row = index; row < parent; row++) if (rows[row]?.projectId !== backup.projectId) return;
    // The line passes the rows in between; chains are short, so this is cheap.
    for (let row = index; row < parent; row++) {
      links[row] = { up: links[row]?.up ?? false, down: true };
      links[row + 1] = { up: true, down: links[row + 1]?.down ?? false };
    }
  });
  return links;
}
