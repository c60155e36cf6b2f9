import { formatCount, plural } from '../format/numbers.ts';

export const find = {
  title: 'Find a document',
  subtitle: 'By its path, by its collection and the beginning of its id, or by a text in it.',
  path: 'Path, id or text',
  placeholder: 'bookings/BK-2044',
  project: 'Project',
  submit: 'Find',
  inNewest: (time: string) => `In the newest backup, ${time}`,
  asOf: (time: string) => `As of ${time}`,
  none: 'Nothing in the newest backup begins like that. It may have been deleted before: open its path to look in all backups.',
  noCollection: 'The newest backup has no collection of this path.',
  liesBelow: 'It is below documents. Begin with one of those before the star:',
  openPath: (path: string) => `Look for ${path} in all backups`,
  hint: 'Type a path, such as users/ada, an id, or a text in the document.',
  lookInside: 'Look inside the newest backup',
  withText: (text: string, time: string) => `With “${text}” in the id or in a text, in the newest backup, ${time}`,
  noText: (text: string) => `No document of the newest backup has “${text}” in its id or in a text.`,
  hintAt: (time: string) => `Type a path with a slash, such as users/ada. It is looked up as of ${time}.`,
  noneAt: 'Nothing at that moment begins like that. Open its path to look at all its versions.',
  noBackup: 'There is no completed backup of this project yet.',
  noProjectText: 'Once a project is backed up, every document in it can be found here, also those that are gone.',
};

export const document = {
  versions: 'Versions',
  captured: (count: number) => plural(count, 'version', 'versions'),
  lineLabel: (count: number) => `${plural(count, 'version', 'versions')} on the line of time`,
  whatChanged: 'What changed',
  field: 'Field',
  liveRead: (time: string) => `live, read ${time}`,
  readAt: (time: string) => `read ${time}`,
  createdWith: (fields: number) => `Created with ${plural(fields, 'field', 'fields')}`,
  changes: (names: Record<'changed' | 'added' | 'removed', readonly string[]>) => {
    const kinds = Object.entries(names).filter(([, fields]) => fields.length > 0);
    const [only] = kinds;
    if (!only) return 'Written again, no field changed';
    const counts = kinds.map(([kind, fields]) => `${formatCount(fields.length)} ${kind}`).join(', ');
    return kinds.length === 1 && only[1].length <= 2 ? `${counts}: ${only[1].join(', ')}` : counts;
  },
  utc: (time: string) => `(${time} UTC)`,
  inNoBackup: 'No backup holds this version yet.',
  inBackup: 'A backup holds this version.',
  then: 'Then',
  now: 'Now',
  live: 'Live',
  notThere: 'not there',
  gone: 'It was not there',
  by: (clock: string) => `by ${clock}`,
  notRead: 'could not be read',
  newestKnown: 'Newest known',
  lastKnown: 'Last known change',
  unknown: 'What is there now is not known: the live database could not be read.',
  reconnect: (name: string) => `Reconnect ${name}`,
  restoreElsewhere: 'Restore it elsewhere…',
  deletedBy: (age: string, time: string) => `Deleted by ${time} at the latest, ${age}.`,
  gonePlain: 'It is not there now.',
  asOf: (time: string) => `As of ${time}.`,
  unknownThen: 'What it was at that moment is not known',
  unknownThenText: 'No version is known that is so old. Choose one from the list.',
  lostThen: 'The version of this address is not known any more',
  lostThenText: 'The backup that contained it no longer exists, and no other replaces it. Choose one from the list.',
  whichFields: 'Which fields are shown',
  bringsBack: (fields: number) => `Restoring brings the document back, with ${plural(fields, 'field', 'fields')}.`,
  bringsBackSafe: 'Nothing is there now: an undo removes it again.',
  unknownSafe: 'What is there is saved before it is overwritten, so it can be undone.',
  restoring: ({ changed, added, removed }: { changed: number; added: number; removed: number }) => {
    const back = changed + removed > 0 && `puts back ${plural(changed + removed, 'field', 'fields')}`;
    const away = added > 0 && `takes ${plural(added, 'field', 'fields')} away`;
    const both = [back, away].filter(Boolean).join(' and ');
    return both ? `Restoring ${both}.` : 'Restoring changes no field: both versions are the same.';
  },
  allFields: 'All fields',
  changedOnly: 'Changed only',
  sameFields: 'No field differs',
  changedCount: (count: number) => `± ${count} changed`,
  addedCount: (count: number) => `+ ${count} added since`,
  removedCount: (count: number) => `− ${count} removed since`,
  restoreThis: 'Restore this version…',
  json: 'JSON',
  compareAll: (collection: string) =>
    collection.length <= 30 ? `Compare all of ${collection} with live` : 'Compare its whole collection with live',
  older: 'Show older ones',
  change: { created: 'Created', changed: 'Changed', deleted: 'Deleted' },
  same: 'Nothing differs between the two.',
  nowhere: 'No backup holds this document',
  nowhereRead: 'No backup that can be read holds this document',
  unreadable: (count: number) =>
    `${plural(count, 'backup', 'backups')} could not be read. Versions that only ${count === 1 ? 'it holds' : 'they hold'} are missing here.`,
  unreadableLog: 'The captured changes',
  nowhereText: 'Check the path. Documents that came and went between two backups were never seen.',
  hint: 'Versions come from the backups that hold the document. What happened between two of them was not seen.',
  hintPitr: (since: string, until: string | undefined) =>
    `${until === undefined ? `Since ${since} every change is captured` : `From ${since} to ${until} every change was captured`}; quick successive writes can show as one, and a delete is known by the latest moment it can have happened at. Older versions come from backups.`,
  safe: 'What is there now is saved first, so it can be undone.',
  others: (count: number | undefined, collection: string) =>
    count === undefined || count < 1
      ? 'No other document is touched.'
      : count === 1
        ? `The other one in ${collection} is not touched.`
        : `The other ${formatCount(count)} in ${collection} are not touched.`,
  source: { backup: 'in a backup', pitr: 'captured', live: 'as it is now' },
};

export const restores = {
  title: 'Restores',
  subtitle: 'What was brought back, and what is on its way.',
  new: 'New restore',
  empty: 'Nothing was restored yet',
  emptyText: 'Find the document or the backup you want back; the restore begins there.',
  emptyToLook: 'Members, admins and the owner restore. You can look inside every backup.',
  tabs: { label: 'Restores and drills', restores: 'Restores', drills: 'Drills' },
  drills: {
    title: 'Drills',
    subtitle: 'Trial restores: every document is brought back somewhere else and compared.',
    empty: 'No drill has run yet',
    chooseBackup: 'Choose a backup',
    scratch: 'A scratch database',
    equal: (matched: string, expected: string) => `${matched} of ${expected}`,
    evidence: 'Each report is signed with the published keys of this installation; anybody can check it without us.',
    columns: {
      result: 'Result',
      project: 'Project',
      into: 'Into',
      equal: 'Came back equal',
      took: 'Took',
      at: 'When',
      report: 'Evidence',
    },
  },
  columns: {
    status: 'Status',
    what: 'What',
    from: 'From',
    into: 'Into',
    documents: 'Documents',
    took: 'Took',
    started: 'Started',
  },
  display: { Success: 'Completed', Failed: 'Failed', 'In Progress': 'In progress' } as Record<string, string>,
  dryRun: 'Dry run',
  dryUndo: 'Dry run of an undo',
  undoOf: 'Undo',
  undone: 'Undone',
  undoHeader: 'The way back',
  everything: 'Everything',
  anUndo: 'What a restore had changed',
  aRestore: 'A restore',
  aBackup: 'a backup',
  filters: { status: 'Status', project: 'Project', source: 'From', target: 'Into', kind: 'Kind' },
  kinds: { written: 'Without dry runs', dry: 'Dry runs only' },
  documents: (count: number) => plural(count, 'document', 'documents'),
};

const restoreOf = (what: string | undefined, target: string) =>
  what === undefined ? `a restore in ${target}` : `the restore of ${what} in ${target}`;
const undoing = (what: string | undefined, target: string) => `Undoing ${restoreOf(what, target)}`;

/** Titles of an undo by its state; what it undoes may not be loaded yet. */
const undoTitles = {
  pending: undoing,
  running: undoing,
  completed: (what: string | undefined, target: string) => `Undone: ${restoreOf(what, target)}`,
  failed: (what: string | undefined, target: string) => `The undo of ${restoreOf(what, target)} failed`,
  cancelled: (what: string | undefined, target: string) => `The undo of ${restoreOf(what, target)} was stopped`,
  dry: (what: string | undefined, target: string) => `Dry run of an undo: ${restoreOf(what, target)}`,
};

export const restore = {
  running: (what: string, target: string) => `Restoring ${what} in ${target}`,
  done: (what: string, target: string) => `Restored ${what} in ${target}`,
  dry: (what: string, target: string) => `Dry run: ${what} in ${target}`,
  failed: (what: string, target: string) => `Restore of ${what} in ${target} failed`,
  stopped: (what: string, target: string) => `Restore of ${what} in ${target} was stopped`,
  undoTitles,
  left: (time: string) => `about ${time} left.`,
  leftSoon: 'almost done.',
  close: 'You may close this page; the restore continues.',
  stop: 'Stop',
  letRun: 'Let it run',
  stopTitle: 'Stop this restore?',
  stopText: 'What is written stays. You can resume it later, or undo it.',
  stopAndUndo: 'Stop and undo…',
  stopAndUndoTitle: 'Stop this restore and undo it?',
  stopAndUndoText: 'It stops first. Then you see what the undo would do, before anything is taken back.',
  stoppedBy: (who: string, at: string) => `Stopped by ${who} at ${at}.`,
  stoppedText: 'What is written stays. Resume continues from there; an undo reverses it.',
  resume: 'Resume',
  resumeHint: 'Goes on where it stopped and tries what failed.',
  phases: 'Phases',
  phaseOf: (at: number) => `${at} of 8`,
  phaseNames: {
    Initializing: 'Initializing',
    Downloading: 'Downloading',
    Decrypting: 'Decrypting',
    Decompressing: 'Decompressing',
    Validating: 'Validating',
    Restoring: 'Restoring',
    Finalizing: 'Finalizing',
    Completed: 'Completed',
  },
  /** What a phase does, shown before it runs. */
  phaseHints: {
    Initializing: 'Asks whether the target answers',
    Downloading: 'Looks for what is needed in storage',
    Decrypting: 'Opens the keys',
    Decompressing: 'Counts the documents',
    Validating: 'Reads what is needed once, to see that it is whole',
    Restoring: 'If it stops, it can continue from here.',
    Finalizing: 'Settles what is left',
    Completed: 'Tells your webhooks',
  },
  /** What a phase found, shown after it. */
  phaseDone: {
    answers: 'The target answers',
    takesWrites: 'The target answers and takes writes',
    found: 'What is needed is in storage',
    journalFound: 'What the restore had changed is known',
    opened: 'Keys opened',
    counted: 'Documents counted',
    allWhole: 'Every segment read once and found whole',
    partWhole: 'What is needed was read once and found whole',
    known: 'What will change is counted',
    accounts: 'Every document settled, accounts written',
    settled: 'Every document settled',
    dry: 'Nothing was written',
    told: 'Webhooks are sent',
    toldAndReady: 'Webhooks are sent, undo is ready',
  },
  nothingWritten: 'Nothing was written',
  nothingWrittenText: 'The database is as it was: there is nothing to undo.',
  safetyLine: 'Safety backup taken',
  /** Shown while it runs and after it was stopped. */
  ofTotal: (total: number) => `of ${plural(total, 'document', 'documents')}`,
  written: (restored: number, deleted: number) =>
    deleted === 0
      ? `${plural(restored, 'document', 'documents')} written`
      : [
          restored > 0 && `${plural(restored, 'document', 'documents')} written`,
          `${plural(deleted, 'document', 'documents')} removed`,
        ]
          .filter(Boolean)
          .join(', '),
  outcome: (written: string, took: string) => `${written} in ${took}.`,
  seeDocument: 'See the document',
  undoTitle: 'You can undo this',
  undoByOthers: 'This can be undone',
  undoText: (saved: number | null) =>
    saved === null
      ? 'What stood there before is kept in a safety backup.'
      : saved === 0
        ? 'Nothing that it wrote stood there before, so there was nothing to save.'
        : `What stood there before is kept in a safety backup: ${plural(saved, 'document', 'documents')}.`,
  undoKept: (kept: { at: string; place: string; saved: number; size: string }) =>
    `What stood there at ${kept.at} is in ${kept.place} as a safety backup: ${plural(kept.saved, 'document', 'documents')}, ${kept.size}.`,
  undoUnsaved: 'There is no safety backup of what stood there before. What an undo can take back is worked out first.',
  undoGone: 'This can no longer be undone',
  undoGoneText: 'What stood there before was kept in a safety backup, which is no longer there.',
  undone: 'This was undone',
  toUndo: 'Show the undo',
  undo: 'Undo…',
  undoAsk: 'Undo this restore?',
  undoWould: (
    { replace, create, delete: gone }: { replace: number; create: number; delete: number },
    conflicts: number,
  ) => {
    const lines = [
      replace > 0 && `${plural(replace, 'document gets', 'documents get')} back what stood there before.`,
      create > 0 &&
        `${plural(create, 'document', 'documents')} that the restore removed ${create === 1 ? 'returns' : 'return'}.`,
      gone > 0 && `${plural(gone, 'document', 'documents')} that the restore created ${gone === 1 ? 'goes' : 'go'}.`,
      conflicts > 0 &&
        `${plural(conflicts, 'document', 'documents')} that somebody changed since ${conflicts === 1 ? 'stays as it is' : 'stay as they are'}.`,
    ].filter((line) => line !== false);
    return lines.length > 0 ? lines : ['It wrote nothing, so nothing would change.'];
  },
  undoConflicts: 'Documents that somebody changed since are left alone and listed.',
  undoIt: 'Undo the restore',
  redoTitle: 'You can take the undo back',
  redoAsk: 'Take this undo back?',
  redoIt: 'Take the undo back',
  lookInside: 'Look inside it',
  conflicts: (count: number, isTried: boolean) =>
    `${plural(count, 'document was', 'documents were')} changed since and ${isTried ? 'would be ' : ''}left alone.`,
  failures: 'Could not be written',
  failuresNone: 'None',
  failuresOver: 'Nothing was left out.',
  failuresHint: 'Failures of single documents appear here, each with its path and reason. The rest continues.',
  andMore: (count: number) => `and ${formatCount(count)} more`,
  facts: {
    from: 'From',
    undoes: 'Undoes the restore of',
    into: 'Into',
    how: 'How',
    started: 'Started',
    startedBy: 'Started by',
    job: 'Job',
    took: 'Took',
    which: 'Which',
  },
  modes: { overwrite: 'Overwrite', skip_existing: 'Only what is missing', merge: 'Merge' },
  removing: 'remove what was not there',
  writes: 'Writes',
  perSecond: (rate: string) => `${rate} per second`,
  writesLabel: (now: string, peak: string) => `Documents per second: ${now} now, ${peak} at most`,
  writesColumns: { at: 'Time', rate: 'Documents per second' },
  restoreNow: 'Do it for real…',
};
