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

/** Says that a form was saved, until it is edited again. */
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
  /** Field errors that are already shown at their fields. */
  faults: Readonly<Record<string, string>>;
  /** Secondary where the page has another primary action. */
  kind?: ButtonKind;
}

/** The end of a form: the button, and whether it was saved, or the error. */
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
