import type { HoldfastError } from '@holdfast/contract/client';
import { useEffect, useRef, useState } from 'react';
import { t } from '../texts/index.ts';
import { Button, type ButtonKind } from './button.tsx';
import { useRefusal } from './draft.tsx';
import { FormProblem } from './states.tsx';

interface Save {
  readonly error: HoldfastError | null;
  readonly isPending: boolean;
  readonly isSuccess: boolean;
  readonly submittedAt: number;
}

/** Says that a form was saved, until something else is typed into it. */
export function Saved({ save }: { save: Save }) {
  const place = useRef<HTMLSpanElement>(null);
  const [changedSince, setChangedSince] = useState<number>();
  const { submittedAt } = save;
  useRefusal(save.error);
  useEffect(() => {
    const form = place.current?.closest('form');
    const note = () => setChangedSince(submittedAt);
    form?.addEventListener('input', note);
    return () => form?.removeEventListener('input', note);
  }, [submittedAt]);
  return (
    <span ref={place} role="status" className="text-table text-held">
      {save.isSuccess && changedSince !== submittedAt && t.common.saved}
    </span>
  );
}

interface SaveRowProps {
  save: Save;
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
        <Saved save={save} />
      </div>
    </>
  );
}
