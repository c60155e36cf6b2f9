import type { ItemOf, Operations } from '@holdfast/contract';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

/** One line of the palette: it leads somewhere, or does something and the palette stays. */
export interface Entry {
  readonly id: string;
  readonly group: string;
  readonly icon: LucideIcon;
  readonly label: ReactNode;
  readonly to?: string;
  readonly act?: () => void;
  /** Where its restore begins, with the command key held. */
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
