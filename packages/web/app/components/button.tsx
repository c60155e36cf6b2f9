import { Link } from '@tanstack/react-router';
import { LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from 'react';

export type ButtonKind = 'primary' | 'secondary' | 'danger' | 'quiet';

const looks: Record<ButtonKind, string> = {
  primary: 'bg-ink text-on-ink border-ink hover:opacity-90',
  secondary: 'bg-surface text-ink border-control hover:bg-bg',
  danger: 'bg-fail text-on-ink border-fail hover:opacity-90',
  quiet: 'bg-transparent text-ink2 border-transparent hover:bg-sunken',
};

const shape =
  'inline-flex items-center justify-center gap-2 h-8 max-sm:h-11 px-3 rounded-control border text-table max-sm:text-body font-medium whitespace-nowrap select-none disabled:opacity-50 disabled:cursor-not-allowed aria-disabled:opacity-50 aria-disabled:cursor-not-allowed';

interface Common {
  kind?: ButtonKind;
  icon?: LucideIcon;
  /** Puts the icon after the label. */
  trailing?: boolean;
  children: ReactNode;
  className?: string;
}

type ButtonProps = Common & { busy?: boolean } & Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>;

/** While busy it ignores clicks but keeps the focus; a disabled button would lose it. */
export function Button({ kind = 'secondary', icon, trailing, busy, children, className = '', ...rest }: ButtonProps) {
  const onClick = (event: MouseEvent<HTMLButtonElement>) => (busy ? event.preventDefault() : rest.onClick?.(event));
  return (
    <button
      type="button"
      {...rest}
      onClick={onClick}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      className={`${shape} ${looks[kind]} ${className}`}
    >
      <Content icon={busy ? LoaderCircle : icon} turning={busy} trailing={trailing}>
        {children}
      </Content>
    </button>
  );
}

export function LinkButton({
  kind = 'secondary',
  icon,
  trailing,
  children,
  className = '',
  to,
}: Common & { to: string }) {
  return (
    <Link to={to} className={`${shape} ${looks[kind]} ${className}`}>
      <Content icon={icon} trailing={trailing}>
        {children}
      </Content>
    </Link>
  );
}

interface ContentProps {
  icon: LucideIcon | undefined;
  turning?: boolean | undefined;
  trailing?: boolean | undefined;
  children: ReactNode;
}

function Content({ icon: Icon, turning, trailing, children }: ContentProps) {
  const mark = Icon && <Icon size={16} aria-hidden className={`shrink-0 ${turning ? 'turning' : ''}`} />;
  return (
    <>
      {!trailing && mark}
      {children}
      {trailing && mark}
    </>
  );
}

type IconButtonProps = { icon: LucideIcon; label: string; className?: string } & Omit<
  ButtonHTMLAttributes<HTMLButtonElement>,
  'className' | 'children'
>;

export function IconButton({ icon: Icon, label, className = '', ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-8 max-sm:size-11 items-center justify-center rounded-control text-ink2 hover:bg-sunken disabled:opacity-50 ${className}`}
    >
      <Icon size={16} aria-hidden />
    </button>
  );
}

/** A link inside text or a table. */
export function TextLink({ to, children, className = '' }: { to: string; children: ReactNode; className?: string }) {
  return (
    <Link to={to} className={`text-held font-medium hover:underline ${className}`}>
      {children}
    </Link>
  );
}
