import type { Figure } from '../figure.ts';
import type { Measured } from '../results.ts';

type Numbers = (detail: string, figure?: string) => string;

interface Row {
  readonly what: string;
  readonly bench: string;
  readonly says: (number: Numbers) => string;
}

/** What docs/scale.md reckons with, in words; the numbers are those of the last run. */
const rows: readonly Row[] = [
  {
    what: 'Backup, one process',
    bench: 'backup',
    says: (number) => `${number('documentsPerSecond')} documents/s of 600 bytes from a local source`,
  },
  {
    what: 'Two workers on one backup',
    bench: 'workers',
    says: (number) => `${number('secondsTogether')} s instead of ${number('secondsAlone')} s`,
  },
  {
    what: 'Restore, one process',
    bench: 'restore',
    says: (number) => `${number('documentsPerSecond')} documents/s into a local target`,
  },
  {
    what: 'Memory for 1,000,000 documents',
    bench: 'memory',
    says: (number) => `${number('peakMiB')} MiB at most, ${number('peakMiBOfSmall')} for 100,000`,
  },
  {
    what: '10,000,000 documents, made while they are read',
    bench: 'scale-documents',
    says: (number) =>
      `backup ${number('seconds')} s and ${number('peakMiB')} MiB at most, restore ${number('seconds', 'restore of a tenth')} s and ${number('peakMiB', 'restore of a tenth')} MiB; every byte compared`,
  },
  {
    what: 'Manifest of a backup of 1 TB',
    bench: 'scale-manifest',
    says: (number) =>
      `${number('manifestMiB')} MiB in ${number('shards')} shards behind one root, written in ${number('writeSeconds')} s, opened in ${number('openMilliseconds')} ms; the segment of one document found with ${number('readsToFindASegment')} object reads of ${number('KiBReadToFindIt')} KiB together`,
  },
  {
    what: 'One document out of 1,000,000',
    bench: 'one-document',
    says: (number) => `${number('reads')} object reads`,
  },
  {
    what: 'Schedules',
    bench: 'schedules',
    says: (number) =>
      `${number('schedules')} of 100,000 due in one minute claimed in ${number('seconds')} s; a tick with nothing due ${number('milliseconds', 'the same among 1,000 schedules')} ms`,
  },
  {
    what: 'Deliveries to webhooks',
    bench: 'webhooks',
    says: (number) => `${number('deliveries/s', '500 a second')}/s from a backlog`,
  },
  { what: 'Calls', bench: 'http', says: (number) => `${number('servicePerSecond')} lists/s in one process` },
  {
    what: '200 quiet projects under PITR, one process',
    bench: 'pitr-quiet',
    says: (number) => `${number('percentOfOneCore')} % of one core`,
  },
];

/** The table of what was measured; a bench that never ran for the report has no row. */
export function measuredScale(results: readonly Measured[]): string {
  const lines = rows.flatMap(({ what, bench, says }) => {
    const found = results.find((measured) => measured.bench === bench);
    return found ? [`| ${what} | ${says(numbersOf(found.figures))} | \`npm run bench -- ${bench}\` |`] : [];
  });
  return ['| What | Figure | Command |', '|---|---|---|', ...lines].join('\n');
}

/** What the README says of it in one breath. */
export function measuredHeadline(results: readonly Measured[]): string {
  const of = (bench: string) => {
    const figures = results.find((measured) => measured.bench === bench)?.figures ?? [];
    const sdk = figures.find(({ against }) => against === 'sdk');
    const times = sdk?.ratio.toLocaleString('en-US', { maximumSignificantDigits: 2 });
    return { perSecond: numbersOf(figures)('documentsPerSecond'), times };
  };
  const [backup, restore] = [of('backup'), of('restore')];
  return `Numbers, on two cores ([all of them](docs/performance.md), each with its command): a backup reads ${backup.perSecond} documents a second, ${backup.times} times the official SDK's stream to JSON (\`npm run bench -- backup\`); a
restore writes ${restore.perSecond}, ${restore.times} times the SDK's BulkWriter (\`npm run bench -- restore\`; Firestore itself asks to begin with 500, [scale](docs/scale.md)); both stay within 300 MiB for a million documents (\`npm run bench -- memory\`).`;
}

/** The number behind the first figure, or behind the one that is measured against what is named. */
function numbersOf(figures: readonly Figure[]): Numbers {
  return (detail, against) => {
    const figure = against === undefined ? figures[0] : figures.find((each) => each.against === against);
    const value = figure?.details[detail];
    if (value === undefined) throw new Error(`No figure tells ${detail}.`);
    return typeof value === 'number' ? value.toLocaleString('en-US', { maximumSignificantDigits: 3 }) : value;
  };
}
