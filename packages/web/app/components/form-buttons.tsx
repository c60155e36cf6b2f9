import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';

interface FormButtonsProps {
  action: string;
  busy: boolean;
  disabled?: boolean;
  /** Of a form in a dialog. On a page there is nothing to close. */
  onCancel?: (() => void) | undefined;
  /** The button that does nothing; absent: Cancel. */
  cancel?: string;
  /** Another thing that can be done with it. */
  children?: ReactNode;
}

/** What ends a form: in a dialog at its right, where every dialog has it. */
export function FormButtons({ action, busy, disabled = false, onCancel, cancel, children }: FormButtonsProps) {
  return (
    <div className={`flex flex-wrap gap-2 ${onCancel ? 'justify-end' : ''}`}>
      {onCancel && <Button onClick={onCancel}>{cancel ?? t.common.cancel}</Button>}
      {children}
      <Button kind="primary" type="submit" busy={busy} disabled={disabled}>
        {action}
      </Button>
    </div>
  );
}
