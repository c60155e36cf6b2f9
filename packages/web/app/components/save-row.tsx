import type { HoldfastError } from '@holdfast/contract/client';
import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';
import { Button, type ButtonKind } from './button.tsx';
import { FormProblem } from './states.tsx';

interface SaveRowProps {
  save: { error: HoldfastError | null; isPending: boolean };
  /** What is said beside the fields and need not be said again. */
  faults: Readonly<Record<string, string>>;
  /** Secondary where the page has another thing that it is for. */
  kind?: ButtonKind;
  children?: ReactNode;
}

/** The end of a form: why it was not saved, and the button. */
export function SaveRow({ save, faults, kind = 'primary', children }: SaveRowProps) {
  return (
    <>
      {save.error && Object.keys(faults).length === 0 && <FormProblem error={save.error} />}
      <div className="flex items-center gap-3">
        <Button kind={kind} type="submit" busy={save.isPending}>
          {t.common.save}
        </Button>
        {children}
      </div>
    </>
  );
}
