import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';

interface FormButtonsProps {
  action: string;
  busy: boolean;
  disabled?: boolean;
  /** Closes the dialog; absent on a page. */
  onCancel?: (() => void) | undefined;
  /** Label of the button that closes; absent: Cancel. */
  cancel?: string;
  /** A further action. */
  children?: ReactNode;
}

/** The buttons at the end of a form; in a dialog they are on the right. */
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
