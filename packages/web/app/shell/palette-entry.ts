import type { ItemOf, Operations } from '@holdfast/contract';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

/** One entry of the palette: a link, or an action that keeps the palette open. */
export interface Entry {
  readonly id: string;
  readonly group: string;
  readonly icon: LucideIcon;
  readonly label: ReactNode;
  readonly to?: string;
  readonly act?: () => void;
  /** Where Ctrl or ⌘ + Enter leads: the restore. */
  readonly restore?: string;
  readonly keys?: readonly string[];
  readonly aside?: string;
}

export type Project = ItemOf<Operations['listProjects']>;

export const isCaptured = ({ pitr }: Project) => pitr.coveredFrom !== null;

export const entry = (id: string, group: string, icon: LucideIcon, label: string, to: string): Entry => ({
  id: `${group} ${id}`,
  group,
  icon,
  label,
  to,
});
