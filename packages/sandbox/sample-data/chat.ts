import type { Random } from '../firestore/faults/random.ts';
import type { SampleDocument } from './sample-document.ts';
import { documentFields, value } from './value-builder.ts';
import { autoId, moment, personName, sentence } from './words.ts';

const messagesPerRoom = 12;

/**
 * A chat room with messages and reactions. Every fourth room was deleted without its messages: its document is missing,
 * as happens in every old database.
 */
export function* chatDocuments(
  root: string,
  random: Random,
  round: number,
): Generator<SampleDocument, void, undefined> {
  const room = `rooms/room ${round}`;
  if (round % 4 !== 3) yield { path: room, fields: roomFields(random) };
  for (let index = 0; index < messagesPerRoom; index++) {
    const message = `${room}/messages/${autoId(random)}`;
    yield { path: message, fields: messageFields(root, random, room) };
    if (random.next() < 0.3) yield { path: `${message}/reactions/${autoId(random)}`, fields: reactionFields(random) };
  }
}

function roomFields(random: Random): Buffer {
  return documentFields(
    ['topic', value.string(sentence(random, 4))],
    ['members', value.array([value.string(personName(random)), value.string(personName(random))])],
    ['settings', value.map(['muted', value.boolean(false)], ['pinned', value.array([])])],
    ['openedAt', value.timestamp(moment(random))],
  );
}

function messageFields(root: string, random: Random, room: string): Buffer {
  return documentFields(
    ['from', value.string(personName(random))],
    ['text', value.string(`${sentence(random, 3 + random.below(30))} 🙂`)],
    ['room', value.reference(`${root}/${room}`)],
    ['sentAt', value.timestamp(moment(random))],
    ['edited', random.next() < 0.1 ? value.timestamp(moment(random)) : value.null],
  );
}

function reactionFields(random: Random): Buffer {
  return documentFields(
    ['emoji', value.string(random.pick(['👍', '🎉', '❤️', '😂']))],
    ['weight', value.double(random.next())],
  );
}
