"""Reads Holdfast's backups without Holdfast: a second reader, written from docs/format.md.

    apt-get install -y python3-cryptography python3-zstandard
    python3 read_backup.py --store FOLDER --master-key-file master.key list
    python3 read_backup.py --store FOLDER --passphrase - read latest --collection orders > orders.ndjson

FOLDER is what lies below the destination's prefix, copied down from the bucket. `read` prints a document a line in the
REST form of Firestore, as `holdfast local export` does. What goes wrong is told in a sentence on the error stream and
by the exit code: 2 wrong usage, 3 damaged, 4 another key is needed, 5 not found. Lines that were printed before belong
to the backup and are not all of it. Accounts of Firebase Authentication and captured changes are left out.
"""
import argparse
import base64
import functools
import hashlib
import heapq
import hmac
import itertools
import json
import re
import struct
import sys
import unicodedata
from datetime import datetime, timedelta
from pathlib import Path

import zstandard
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

PLAIN_BYTES_MAX = 16 * 1024 * 1024


class Failure(Exception):
    def __init__(self, exit_code, sentence):
        super().__init__(sentence)
        self.exit_code = exit_code


def require(fact, otherwise):
    if not fact:
        raise Failure(3, f"Damaged: {otherwise}.")


# Section 5: keys and sealing


def hkdf(key, salt, info):
    return HKDF(SHA256(), 32, salt, info.encode()).derive(key)


@functools.lru_cache
def key_of_passphrase(passphrase, salt, iterations):
    require(100_000 <= iterations <= 10_000_000, f"an envelope asks for {iterations} iterations")
    text = unicodedata.normalize("NFC", passphrase).encode()
    return hashlib.pbkdf2_hmac("sha256", text, bytes.fromhex(salt), iterations)


class Keys:
    """What opens backups: keys of 32 bytes, and passphrases that give one for each salt."""

    def __init__(self):
        self.keys, self.passphrases = [], []

    def add_copies(self, store, master_key):
        copies = sorted(store.glob("keys/*/*"))
        copy_key = hmac.digest(master_key, b"holdfast derive key copies", "sha256")
        for path in copies:
            copy = path.read_bytes()
            sealing_key = hkdf(copy_key, copy[8:24], f"holdfast/1 keys {path.parent.name}")
            try:
                # The header is part of what is sealed: with another one nothing opens.
                plain = AESGCM(sealing_key).decrypt(bytes(12), copy[24:], b"HFKC\1\0\0\0")
            except InvalidTag:
                continue
            for key in json.loads(plain)["keys"]:
                self.keys.append(base64.b64decode(key["key"]))
                self.passphrases += [key["passphrase"]] if key["passphrase"] else []
        if not self.keys:
            raise Failure(4, "The keys beside the backups need another master key." if copies else "No keys lie there.")

    def add_kit(self, kit):
        secrets = kit.split("\nStorage destinations ")[0]
        self.keys += map(base64.b64decode, re.findall(r"^key \S+ \S+ (\S+)", secrets, re.M))
        self.passphrases += [base64.b64decode(text).decode() for text in re.findall(r"^passphrase (\S+)", secrets, re.M)]

    def candidates(self, envelope):
        yield from self.keys
        if envelope["kind"] == "passphrase":
            for passphrase in self.passphrases:
                yield key_of_passphrase(passphrase, envelope["salt"], envelope["iterations"])

    def data_key(self, envelope, owner):
        for key in self.candidates(envelope):
            if hkdf(key, b"", "holdfast/1 key id")[:8].hex() == envelope["keyId"]:
                return unwrap(key, envelope, owner)
        raise Failure(4, f"{owner} needs another key.")


def unwrap(key, envelope, owner):
    derivation = f"{envelope.get('salt', '-')} {envelope.get('iterations', '-')}"
    additional = f"holdfast/1 envelope {owner} {envelope['kind']} {derivation}".encode()
    wrap_key = hkdf(key, bytes.fromhex(envelope["wrapSalt"]), f"holdfast/1 wrap {owner}")
    iv, wrapped = bytes.fromhex(envelope["iv"]), bytes.fromhex(envelope["wrapped"])
    try:
        data_key = AESGCM(wrap_key).decrypt(iv, wrapped, additional)
    except InvalidTag:
        data_key = b""
    require(data_key, f"the wrapped key of {owner} does not open with the key it names")
    commitment = hkdf(data_key, b"", f"holdfast/1 commitment {owner}").hex()
    require(hmac.compare_digest(commitment, envelope["commitment"]), f"the wrapped key of {owner} is another one")
    return data_key


def open_block(what, object_key, number, codec, additional, sealed, plain_bytes):
    require(codec in (0, 1) and plain_bytes <= PLAIN_BYTES_MAX, f"{what} has an unknown codec or an impossible length")
    try:
        packed = AESGCM(object_key).decrypt(bytes(11) + bytes([number]), sealed, additional + bytes([number]))
        stream = zstandard.ZstdDecompressor().stream_reader(packed)
        plain = stream.read(plain_bytes + 1) if codec == 1 else packed
    except (InvalidTag, ValueError, zstandard.ZstdError):
        plain = None
    require(plain is not None, f"the seal of {what} does not hold")
    require(len(plain) == plain_bytes, f"{what} has another length than it says")
    return plain


# Section 7: manifests


class Manifest:
    """A root or a shard, taken apart and not yet opened."""

    header = struct.Struct("<4s4B16s3I12s")

    def __init__(self, what, data, content):
        require(len(data) >= self.header.size, f"{what} is cut off")
        magic, version, kind, self.codec, zero, self.object_id, *lengths, zeros = self.header.unpack_from(data)
        clear_bytes, self.plain_bytes, sealed_bytes = lengths
        require((magic, version, kind) == (b"HFMF", 1, content), f"{what} is none of this version")
        require(zero == 0 and zeros == bytes(12) and clear_bytes <= 65536, f"{what} has an unknown header")
        self.what, self.bound = what, data[:24] + bytes(4) + data[28:48]
        self.clear, self.sealed = data[48 : 48 + clear_bytes], data[48 + clear_bytes :]
        require(len(self.sealed) == sealed_bytes, f"{what} has another length than it says")

    def open(self, data_key, owner):
        object_key = hkdf(data_key, self.object_id, f"holdfast/1 object {owner}")
        bound = self.bound + owner.encode()
        return json.loads(open_block(self.what, object_key, 1, self.codec, bound, self.sealed, self.plain_bytes))


class Backup:
    """One backup: its manifest opened, its segments read when they are asked for."""

    def __init__(self, store, keys, backup_id):
        self.folder, self.id = store / "backups" / backup_id, backup_id
        root = Manifest(f"the manifest of {backup_id}", self.object("manifest"), 1)
        clear = clear_part(root)
        require(clear["ownerId"] == backup_id, f"{root.what} is of another backup")
        try:
            self.data_key = keys.data_key(clear["envelope"], backup_id)
        except (KeyError, TypeError, ValueError):
            require(False, f"the envelope of {backup_id} is not whole")
        self.body, self.hash = root.open(self.data_key, backup_id), hashlib.sha256(root.sealed).hexdigest()
        self.database = self.body["database"]
        is_this = (self.body["formatVersion"], self.body["backupId"]) == (1, backup_id)
        require(is_this, f"{root.what} is of another backup or version")
        require(self.body["createdAt"] == clear["createdAt"], f"{root.what} contradicts its clear part")
        require((self.body["type"] == "incremental") == bool(self.body["parent"]), f"{root.what} has a parent against its type")

    def object(self, key):
        require((self.folder / key).is_file(), f"backups/{self.id}/{key} is missing")
        return (self.folder / key).read_bytes()

    def is_whole(self):
        """Whether it shows a whole database, and was made neither before a restore nor of a file."""
        scope = self.body["scope"]
        of_all = scope["collections"] == "all" and scope["includeSubcollections"] and not scope["excludeCollections"]
        return of_all and "documents" not in scope and not self.body.get("isSafety") and "importedFrom" not in self.body

    def segments(self):
        """All descriptors, with their order and their sums checked."""
        found = list(self.body["segments"])
        require(not (found and self.body["shards"]), f"{self.id} lists segments twice")
        for shard in self.body["shards"]:
            found += self.segments_of(shard)
        require(is_ordered(found), f"the segments of {self.id} are out of order, or one is left out")
        users = self.body["authUsers"] or {"segments": []}
        sums = {name: sum(segment[name] for segment in found) for name in ("puts", "deletes")}
        sums["segments"] = len(found)
        sums["plainBytes"] = sum(segment["plainBytes"] for segment in found + users["segments"])
        sums["storedBytes"] = sum(stored_bytes(segment) for segment in found + users["segments"])
        counts = self.body["counts"]
        require(all(counts[name] == total for name, total in sums.items()), f"the segments of {self.id} do not add up")
        return found

    def segments_of(self, shard):
        what, data = f"shard {shard['id']} of {self.id}", self.object(f"shards/{shard['id']}")
        require(len(data) == shard["storedBytes"], f"{what} has another length")
        require(hashlib.sha256(data).hexdigest() == shard["sha256"], f"{what} has another hash")
        manifest = Manifest(what, data, 2)
        segments = manifest.open(self.data_key, self.id)["segments"]
        is_same = (manifest.object_id.hex(), len(segments)) == (shard["id"], shard["segments"])
        ends = (segments[0]["firstPath"], segments[-1]["lastPath"]) if segments else None
        require(is_same and ends == (shard["firstPath"], shard["lastPath"]), f"{what} holds something else")
        return segments

    def records(self, path):
        """The records in the order of paths; with a path those of the one segment that may hold it."""
        for segment in self.segments():
            first, last = path_order(segment["firstPath"]), path_order(segment["lastPath"])
            if path is None or first <= path_order(path) <= last:
                yield from read_segment(self, segment)


def clear_part(root):
    try:
        clear = json.loads(root.clear)
        return {name: clear[name] for name in ("ownerId", "createdAt", "envelope")}
    except (KeyError, TypeError, ValueError):
        raise Failure(3, f"Damaged: the clear part of {root.what} cannot be read.") from None


def stored_bytes(segment):
    return segment["headerBytes"] + segment["indexBytes"] + segment["dataBytes"]


def is_ordered(segments):
    place, end = (-1, 0), ()
    for segment in segments:
        next_place = (place[0], place[1] + 1) if segment["range"] == place[0] else (segment["range"], 0)
        first, last = path_order(segment["firstPath"]), path_order(segment["lastPath"])
        if (segment["range"], segment["sequence"]) != next_place or next_place < place or not end < first <= last:
            return False
        place, end = next_place, last
    return True


# Sections 4 and 6: segments and their records

SEGMENT_HEADER = struct.Struct("<4s4B16s8I")


def read_segment(backup, segment):
    """Yields (order, path, is_delete, document) of every record, after all of them have been checked."""
    what, data = f"segment {segment['id']} of {backup.id}", backup.object(f"segments/{segment['id']}")
    require(len(data) == stored_bytes(segment), f"{what} has another length")
    require(hashlib.sha256(data).hexdigest() == segment["sha256"], f"{what} has another hash")
    magic, version, content, codec, zero, object_id, *numbers = SEGMENT_HEADER.unpack_from(data)
    range_number, sequence, count, index_plain, index_sealed, data_plain, data_sealed, annex = numbers
    require((magic, version, zero, annex) == (b"HFSG", 1, 0, 0), f"{what} is none of this version")
    told = (object_id.hex(), content, range_number, sequence, count, index_sealed, data_plain, data_sealed)
    listed = ("id", "content", "range", "sequence", "records", "indexBytes", "plainBytes", "dataBytes")
    require(content == 1 and told == tuple(segment[name] for name in listed), f"{what} is not what the manifest says")
    object_key = hkdf(backup.data_key, object_id, f"holdfast/1 object {backup.id}")
    bound, index_end = data[:56] + backup.id.encode(), 56 + index_sealed
    index = open_block(what, object_key, 1, codec, bound, data[56:index_end], index_plain)
    bodies = open_block(what, object_key, 2, codec, bound, data[index_end:], data_plain)
    try:
        found = list(records_of(what, backup.database, index, bodies))
    except (IndexError, UnicodeDecodeError, struct.error):
        raise Failure(3, f"Damaged: a record of {what} is not whole.") from None
    deletes = sum(is_delete for _, _, is_delete, _ in found)
    counted = (len(found), len(found) - deletes, deletes)
    require(counted == (segment["records"], segment["puts"], segment["deletes"]), f"{what} holds another number of records")
    require(all(one[0] < other[0] for one, other in zip(found, found[1:])), f"the paths of {what} are out of order")
    require((found[0][1], found[-1][1]) == (segment["firstPath"], segment["lastPath"]), f"{what} holds other paths")
    return found


def records_of(what, database, index, bodies):
    """Goes through index and data together: what an entry says must be what its record is."""
    at = offset = seconds = 0
    path = b""
    while at < len(index):
        shared, at = varint(index, at)
        suffix_bytes, at = varint(index, at)
        path = path[:shared] + index[at : at + suffix_bytes]
        require(len(path) == shared + suffix_bytes, f"an index entry of {what} is not whole")
        length_and_kind, at = varint(index, at + suffix_bytes)
        zigzag, at = varint(index, at)
        nanos, at = varint(index, at)
        seconds += (zigzag >> 1) ^ -(zigzag & 1)
        kind, body_bytes = struct.unpack_from("<BI", bodies, offset)
        body = bodies[offset + 5 : offset + 5 + body_bytes]
        offset += 5 + body_bytes
        require(kind in (1, 2) and len(body) == body_bytes, f"a record of {what} is not whole")
        require(length_and_kind == body_bytes * 2 + (kind == 2), f"a record of {what} is not what its index says")
        document, name = fields_of(body), path.decode()
        require(text(document, 1) == f"{database}/documents/{name}", f"a document of {what} has another name")
        require(seconds_and_nanos(document, 4) == (seconds, nanos), f"a document of {what} has another time")
        yield path_order(name), name, kind == 2, document
    require(offset == len(bodies), f"{what} holds more than its index says")


# Sections 2 and 9: the order of paths, and the view


def path_order(path):
    """Numeric ids come first and compare by number; two spellings of one number compare by their bytes."""
    segments = ((re.fullmatch("__id(-?[0-9]{1,19})__", segment), segment.encode()) for segment in path.split("/"))
    return tuple((0, int(number[1]), name) if number else (1, 0, name) for number, name in segments)


def open_chain(store, keys, backup_id):
    """The backup and what it builds on, newest first."""
    chain = [Backup(store, keys, backup_id)]
    while parent := chain[-1].body["parent"]:
        child, backup = chain[-1], Backup(store, keys, parent["backupId"])
        require(backup.hash == parent["manifestSha256"], f"{backup.id} is not the one that {child.id} was made on")
        require(backup.database == child.database, f"{backup.id} is of another database than {child.id}")
        chain.append(backup)
    return chain


def layer(backup, age, path):
    for order, *record in backup.records(path):
        yield order, age, *record


def view(chain, path):
    """The documents at the chain's end: of each path the newest record wins, and a delete removes."""
    merged = heapq.merge(*(layer(backup, age, path) for age, backup in enumerate(chain)), key=lambda record: record[:2])
    for _, records in itertools.groupby(merged, key=lambda record: record[0]):
        _, _, found, is_delete, document = next(records)
        if not is_delete:
            yield found, document


# google.firestore.v1.Document, from Protocol Buffers to the REST form


def varint(data, at):
    value = shift = 0
    while data[at] >= 128:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
    return value | data[at] << shift, at + 1


def fields_of(message):
    fields, at = [], 0
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == 0:
            value, at = varint(message, at)
        else:
            size, at = varint(message, at) if tag & 7 == 2 else ({1: 8, 5: 4}.get(tag & 7, len(message) + 1), at)
            value, at = message[at : at + size], at + size
        if at > len(message):
            raise IndexError
        fields.append((tag >> 3, value))
    return fields


def last(fields, number, absent):
    return next((value for field, value in reversed(fields) if field == number), absent)


def text(fields, number):
    return last(fields, number, b"").decode()


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def seconds_and_nanos(fields, number):
    time = fields_of(last(fields, number, b""))
    return signed(last(time, 1, 0)), last(time, 2, 0)


def timestamp(seconds, nanos):
    fraction = re.sub("(000)+$", "", f".{nanos:09}") if nanos else ""
    return (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat() + fraction + "Z"


def json_number(data):
    number = struct.unpack("<d", data)[0]
    return number if number - number == 0 else {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(number)]


def map_fields(fields, number):
    entries = (fields_of(entry) for field, entry in fields if field == number)
    return {text(entry, 1): rest_value(fields_of(last(entry, 2, b""))) for entry in entries}


def geo_point(data):
    point = fields_of(data)
    return {"latitude": json_number(last(point, 1, bytes(8))), "longitude": json_number(last(point, 2, bytes(8)))}


def without_empty(name, content):
    return {name: content} if content else {}


REST_VALUES = {
    1: ("booleanValue", bool),
    2: ("integerValue", lambda value: str(signed(value))),
    3: ("doubleValue", json_number),
    5: ("referenceValue", bytes.decode),
    6: ("mapValue", lambda data: without_empty("fields", map_fields(fields_of(data), 1))),
    8: ("geoPointValue", geo_point),
    9: ("arrayValue", lambda data: without_empty("values", [rest_value(fields_of(item)) for _, item in fields_of(data)])),
    10: ("timestampValue", lambda data: timestamp(*seconds_and_nanos([(1, data)], 1))),
    11: ("nullValue", lambda _: None),
    17: ("stringValue", bytes.decode),
    18: ("bytesValue", lambda data: base64.b64encode(data).decode()),
}


def rest_value(fields):
    number, value = fields[-1] if fields else (11, 0)
    require(number in REST_VALUES, f"a value has the unknown type {number}")
    name, convert = REST_VALUES[number]
    return {name: convert(value)}


def rest_document(document, absent_time):
    """Documents that were imported from a foreign file may have no times; theirs is the time the backup is of."""
    numbers = {field for field, _ in document}
    time = {number: timestamp(*seconds_and_nanos(document, number)) if number in numbers else absent_time for number in (3, 4)}
    return {"name": text(document, 1), "fields": map_fields(document, 2), "createTime": time[3], "updateTime": time[4]}


# Commands


def find_backups(store, keys):
    """The backups that open, by their age, and why the others do not, each with its time where that can be read."""
    opened, unread = [], []
    for path in sorted(store.glob("backups/*/manifest")):
        try:
            opened.append(Backup(store, keys, path.parent.name))
        except Failure as failure:
            unread.append((failure, created_at(path)))
    if not opened:
        raise unread[0][0] if unread else Failure(5, f"No backup lies in {store}.")
    return sorted(opened, key=lambda backup: backup.body["snapshotTime"]), unread


def created_at(path):
    try:
        return clear_part(Manifest(str(path), path.read_bytes(), 1))["createdAt"]
    except Failure:
        return None


def list_backups(store, keys):
    opened, unread = find_backups(store, keys)
    for backup in opened:
        body, parent = backup.body, (backup.body["parent"] or {}).get("backupId", "-")
        print(backup.id, body["snapshotTime"], body["type"], parent, body["counts"]["documents"], backup.database, sep="\t")
    if unread:
        raise Failure(unread[0][0].exit_code, " ".join(str(failure) for failure, _ in unread))


def latest(store, keys, project):
    opened, unread = find_backups(store, keys)
    whole = [backup for backup in opened if backup.is_whole() and project in ("", backup.database.split("/")[1])]
    if not whole:
        raise Failure(5, "There is no backup of the whole database.")
    if len({backup.database for backup in whole}) > 1:
        raise Failure(2, "Several databases lie there: name a backup by its id, or a project by latest:PROJECT.")
    for failure, time in unread:
        if time is None or time > whole[-1].body["createdAt"]:
            raise Failure(failure.exit_code, f"{failure} It may be newer than {whole[-1].id}: name a backup by its id.")
    return whole[-1].id


def collection_shape(path):
    return "/".join("*" if place % 2 else name for place, name in enumerate(path.split("/")[:-1]))


def lies_in(collection, path):
    wanted, names = collection.split("/"), path.split("/")
    here = all(want == name or (want == "*" and place % 2) for place, (want, name) in enumerate(zip(wanted, names)))
    return here and len(wanted) < len(names)


def read_backup(store, keys, name, path, collection):
    word, _, project = name.partition(":")
    backup_id = latest(store, keys, project) if word == "latest" else name
    if not (store / "backups" / backup_id / "manifest").is_file():
        raise Failure(5, f"There is no backup {backup_id}.")
    chain = open_chain(store, keys, backup_id)
    body, shapes, printed = chain[0].body, {}, 0
    for found, document in view(chain, path):
        shapes[collection_shape(found)] = shapes.get(collection_shape(found), 0) + 1
        if path in (None, found) and (collection is None or lies_in(collection, found)):
            print(json.dumps(rest_document(document, body["snapshotTime"]), ensure_ascii=False, separators=(",", ":")))
            printed += 1
    if path is None:
        require(sum(shapes.values()) == body["counts"]["documents"], f"the documents of {backup_id} do not add up")
        listed = {entry["path"]: entry["documents"] for entry in body["collections"]}
        require(body["collectionsTruncated"] or listed == shapes, f"the collections of {backup_id} do not add up")
    if not printed and (path or collection):
        raise Failure(5, f"{path or collection} is not in {backup_id}.")


def key_of(content):
    """32 bytes as they are, or their hexadecimal or base64."""
    word = content.strip()
    try:
        key = content if len(content) == 32 else bytes.fromhex(word.decode()) if len(word) == 64 else base64.b64decode(word)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise Failure(2, "A key is 32 bytes, raw or in base64 or hexadecimal.")
    return key


def given_keys(options):
    keys = Keys()
    typed = sys.stdin.readline().rstrip("\r\n") if "-" in (options.key, options.passphrase) else None
    if options.master_key_file:
        keys.add_copies(options.store, key_of(options.master_key_file.read_bytes()))
    elif options.kit_file:
        keys.add_kit(options.kit_file.read_text(encoding="utf-8"))
    elif options.key:
        keys.keys.append(key_of((typed or options.key).encode()))
    else:
        keys.passphrases.append(typed or options.passphrase)
    return keys


def main():
    parser = argparse.ArgumentParser(description="Reads Holdfast's backups without Holdfast.")
    parser.add_argument("--store", type=Path, required=True, help="the folder that the bucket was copied into")
    secret = parser.add_mutually_exclusive_group(required=True)
    secret.add_argument("--master-key-file", type=Path, help="the master key of the service")
    secret.add_argument("--kit-file", type=Path, help="the recovery kit")
    secret.add_argument("--passphrase", help="the organization's passphrase; - reads it from the input")
    secret.add_argument("--key", help="the organization's key in base64 or hexadecimal; - reads it from the input")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="id, time, type, parent, documents and database of each backup")
    read = commands.add_parser("read", help="print documents, one a line")
    read.add_argument("backup", help="id, latest, or latest:PROJECT where several lie there")
    read.add_argument("--document", help="only this one, such as users/ada")
    read.add_argument("--collection", help="only what lies in it and below, such as orders or users/*/orders")
    options = parser.parse_args()
    if not options.store.is_dir():
        raise Failure(5, f"There is no folder {options.store}.")
    if options.command == "list":
        list_backups(options.store, given_keys(options))
    else:
        read_backup(options.store, given_keys(options), options.backup, options.document, options.collection)


if __name__ == "__main__":
    try:
        sys.stdout.reconfigure(encoding="utf-8")
        main()
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(failure.exit_code)
    except OSError as error:
        sys.exit(f"{error.filename or 'The output'}: {error.strerror}.")
