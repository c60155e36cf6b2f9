import type { HoldfastError } from '@holdfast/contract/client';
import { t } from '../texts/index.ts';
import { Button, type ButtonKind } from './button.tsx';
import { FormProblem } from './states.tsx';

interface SaveRowProps {
  save: { error: HoldfastError | null; isPending: boolean; isSuccess: boolean };
  /** What is said beside the fields and need not be said again. */
  faults: Readonly<Record<string, string>>;
  /** Secondary where the page has another thing that it is for. */
  kind?: ButtonKind;
}

/** The end of a form: the button, and whether it was saved or why not. */
export function SaveRow({ save, faults, kind = 'primary' }: SaveRowProps) {
  return (
    <>
      {save.error && Object.keys(faults).length === 0 && <FormProblem error={save.error} />}
      <div className="flex items-center gap-3">
        <Button kind={kind} type="submit" busy={save.isPending}>
          {t.common.save}
        </Button>
        {save.isSuccess && (
          <span role="status" className="text-table text-held">
            {t.common.saved}
          </span>
        )}
      </div>
    </>
  );
}
