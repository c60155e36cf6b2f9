import { ArrowRight } from 'lucide-react';
import { TextLink } from '../../components/button.tsx';
import { Exact } from '../../components/exact.tsx';
import { FormProblem, Skeleton } from '../../components/states.tsx';
import { TypeName, Value } from '../../components/value.tsx';
import type { FirestoreValue } from '../../format/values.ts';
import { t } from '../../texts/index.ts';
import type { Sample, useSamples } from './use-samples.ts';

/** Values get the room; a long path wraps. */
const widths = ['w-[25%]', 'w-[15%]', 'w-[30%]', 'w-[30%]'];

/** Samples of the changes with their values. */
export function Samples({ found, compareTo }: { found: ReturnType<typeof useSamples>; compareTo: string | undefined }) {
  const { samples: words } = t.newRestore;
  if (found.error) return <FormProblem error={found.error} />;
  if (found.isLoading) return <Skeleton rows={3} />;
  if (!found.data || found.data.length === 0) return null;
  return (
    <div className="overflow-hidden rounded-panel border border-line">
      <table aria-label={words.title} className="w-full border-collapse text-table max-md:block md:table-fixed">
        <thead className="max-md:sr-only">
          <tr className="border-line border-b bg-bg text-left text-ink2 text-meta">
            {[words.title, words.field, words.now, words.after].map((header, index) => (
              <th key={header} scope="col" className={`px-4 py-2 font-medium ${widths[index]}`}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="max-md:block">
          {found.data.map((sample) => (
            <Row key={`${sample.path} ${sample.field}`} sample={sample} />
          ))}
        </tbody>
      </table>
      {compareTo && (
        <p className="border-line border-t px-4 py-2">
          <TextLink to={compareTo}>{words.compareAll}</TextLink>
        </p>
      )}
    </div>
  );
}

function Row({ sample }: { sample: Sample }) {
  const { samples: words } = t.newRestore;
  const { change } = sample;
  return (
    <tr className="border-line border-b align-top last:border-b-0 max-md:block max-md:px-4 max-md:py-2 md:[&>*]:px-4 md:[&>*]:py-2">
      <th scope="row" className="text-left font-normal max-md:block">
        <code className="break-all font-mono">
          <Exact text={sample.path} />
        </code>
      </th>
      <td className={`font-medium max-md:block ${sample.field === null ? '' : 'break-all'}`}>
        {sample.field === null ? words.whole : <Exact text={sample.field} />}
      </td>
      <td className="max-md:block">{change === 'remove' ? words.there : <Side value={sample.now} />}</td>
      <td className="max-md:block">
        <span className="flex items-start gap-2">
          <ArrowRight size={14} aria-hidden className="mt-1 shrink-0 text-ink3" />
          {change === 'field' ? (
            <Side value={sample.then} />
          ) : (
            <span className={change === 'remove' ? 'text-fail' : 'font-medium'}>
              {change === 'remove' ? words.removed : words.created}{' '}
              {sample.fields !== undefined && (
                <span className="font-normal text-ink2">{words.withFields(sample.fields)}</span>
              )}
            </span>
          )}
        </span>
      </td>
    </tr>
  );
}

function Side({ value }: { value: FirestoreValue | undefined }) {
  if (value === undefined) return <span className="text-ink3">{t.document.notThere}</span>;
  return (
    <span className="min-w-0 break-words">
      <Value value={value} /> <TypeName value={value} />
    </span>
  );
}
