import { X } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../texts/index.ts';
import { IconButton } from './button.tsx';
import { rememberFocus } from './give-back-focus.ts';

interface DialogProps {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the bottom. */
  footer?: ReactNode;
  wide?: boolean;
  /** Hides the page behind it and has no close button: one of its buttons must be chosen. */
  covers?: boolean;
}

/** Focus the first field, not the close button; not on a phone, where the keyboard would cover the rest. */
function firstField(dialog: HTMLDialogElement): HTMLElement | null {
  if (window.matchMedia('(pointer: coarse)').matches) return null;
  return dialog.querySelector<HTMLElement>('input:not([type=radio]), input:checked, select, textarea');
}

/** The native dialog element: it traps the focus and returns it. */
export function Dialog({ title, onClose, children, footer, wide, covers }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const giveBack = rememberFocus();
    if (dialog && !dialog.open) {
      dialog.showModal();
      firstField(dialog)?.focus();
    }
    return () => {
      dialog?.close();
      giveBack();
    };
  }, []);
  // The browser lets us refuse Escape only once; the next one would close this dialog and the one below it.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      onKeyDown={onKeyDown}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`m-auto max-h-[min(90dvh,760px)] flex-col overflow-hidden rounded-panel border border-line bg-surface p-0 text-ink shadow-overlay open:flex ${wide ? 'max-w-[760px]' : covers ? 'max-w-[560px] backdrop:bg-bg' : 'max-w-[480px]'} w-[94vw]`}
    >
      <header className="flex items-center justify-between gap-3 border-line border-b px-5 py-3">
        <h2 id={id} className="text-section font-semibold">
          {title}
        </h2>
        {!covers && <IconButton icon={X} label={t.common.close} onClick={onClose} />}
      </header>
      <div className="flex flex-col gap-4 overflow-y-auto px-5 py-4">{children}</div>
      {footer && (
        <footer className="flex flex-wrap justify-end gap-2 border-line border-t bg-bg px-5 py-3">{footer}</footer>
      )}
    </dialog>
  );
}
