// Writes ZIP archives for tests, without checksums: the page does not read them.
import { deflateRawSync } from "node:zlib";

/** `files`: texts by name. `method`: 8 compresses them, 0 stores them as they are. */
export function zipOf(files, method = 8) {
  const [parts, entries] = [[], []];
  let at = 0;
  for (const [name, text] of Object.entries(files)) {
    const [title, content] = [Buffer.from(name), method === 8 ? deflateRawSync(text) : Buffer.from(text)];
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(title.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(content.length, 20);
    entry.writeUInt32LE(Buffer.byteLength(text), 24);
    entry.writeUInt16LE(title.length, 28);
    entry.writeUInt32LE(at, 42);
    parts.push(head, title, content);
    entries.push(entry, title);
    at += head.length + title.length + content.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end, Buffer.from("a comment")]);
}
