import { t } from '../texts/index.ts';

interface TableToggleProps {
  asTable: boolean;
  onChange: (asTable: boolean) => void;
  /** Names the chart, where a page has several. */
  of?: string;
}

/** Switches between a chart and its table. */
export function TableToggle({ asTable, onChange, of }: TableToggleProps) {
  const words = asTable ? t.common.showAsPicture : t.common.showAsTable;
  return (
    <button
      type="button"
      onClick={() => onChange(!asTable)}
      className="touch font-medium text-held text-meta hover:underline"
      aria-label={of && `${words}: ${of}`}
    >
      {words}
    </button>
  );
}
