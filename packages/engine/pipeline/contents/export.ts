import { decodeDocument, stringifyLossless } from '../../format/document-json.ts';
import { readRecords } from '../segments/read-records.ts';
import type { Selection } from '../view/selection.ts';
import type { View, ViewReadOptions } from '../view/view.ts';

/**
 * The view as newline-delimited JSON, one document per line in the REST form `{name, fields, createTime, updateTime}`:
 * typed and lossless. Documents of a foreign file have no times; they get the time of the backup. Yields chunks of many
 * lines.
 */
export async function* exportLines(
  view: View,
  selection: Selection = {},
  options: ViewReadOptions = {},
): AsyncGenerator<string> {
  const since = view.body?.snapshotTime;
  for await (const batch of view.records(selection, options)) {
    let lines = '';
    for (const { body } of readRecords(batch, view.database)) {
      const { name, fields, createTime = since, updateTime = since } = decodeDocument(body);
      lines += `${stringifyLossless({ name, fields, createTime, updateTime })}\n`;
      if (lines.length < chunkCharacters) continue;
      yield lines;
      lines = '';
    }
    if (lines !== '') yield lines;
  }
}

/** Some milliseconds of work: the caller may let others use the thread between two chunks. */
const chunkCharacters = 64 * 1024;
