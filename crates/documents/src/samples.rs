//! Makes documents for tests. The integration tests include this file too.

use std::io::{Cursor, Write};

/// A PDF file while it is built. Objects are numbered from 1.
#[derive(Default)]
pub(crate) struct PdfFile {
    objects: Vec<Vec<u8>>,
}

impl PdfFile {
    /// Adds an object and returns its number.
    pub(crate) fn add(&mut self, object: impl AsRef<[u8]>) -> usize {
        self.objects.push(object.as_ref().to_vec());
        self.objects.len()
    }

    /// Adds a stream. `entries` are further entries of its dictionary.
    pub(crate) fn stream(&mut self, entries: &str, data: &[u8]) -> usize {
        let head = format!("<< /Length {} {entries} >>\nstream\n", data.len());
        self.add([head.as_bytes(), data, b"\nendstream"].concat())
    }

    /// The file, whose catalog is the object `root`.
    pub(crate) fn finish(&self, root: usize, trailer: &str) -> Vec<u8> {
        let mut file = b"%PDF-1.7\n".to_vec();
        let mut offsets = Vec::new();
        for (index, object) in self.objects.iter().enumerate() {
            offsets.push(file.len());
            file.extend(format!("{} 0 obj\n", index + 1).bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let start = file.len();
        let size = self.objects.len() + 1;
        file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
        offsets.iter().for_each(|offset| file.extend(format!("{offset:010} 00000 n \n").bytes()));
        file.extend(format!("trailer\n<< /Size {size} /Root {root} 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n").bytes());
        file
    }
}

/// A line of text on a page: position from the lower left corner, size and text.
pub(crate) type TextLine<'t> = (u32, u32, u32, &'t str);

/// The instructions that draw lines of text.
pub(crate) fn content(lines: &[TextLine<'_>]) -> String {
    lines.iter().map(|(x, y, size, text)| format!("BT /F1 {size} Tf {x} {y} Td ({}) Tj ET\n", text.replace(['(', ')'], ""))).collect()
}

/// A PDF file with a page for each content.
pub(crate) fn pdf(contents: &[String]) -> Vec<u8> {
    pdf_with(contents, "", "")
}

/// A PDF file with further entries in its catalog and its trailer. Object 1 is the font, 2 the tree of pages, and 3 and 4 the first page.
pub(crate) fn pdf_with(contents: &[String], catalog: &str, trailer: &str) -> Vec<u8> {
    let mut file = PdfFile::default();
    file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    let pages: String = (0..contents.len()).map(|n| format!("{} 0 R ", 3 + 2 * n)).collect();
    file.add(format!("<< /Type /Pages /Count {} /Kids [{pages}] >>", contents.len()));
    for content in contents {
        let page = file.objects.len() + 1;
        file.add(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 1 0 R >> >> /Contents {} 0 R >>",
            page + 1
        ));
        file.stream("", content.as_bytes());
    }
    let root = file.add(format!("<< /Type /Catalog /Pages 2 0 R {catalog} >>"));
    file.finish(root, trailer)
}

/// A ZIP archive.
pub(crate) fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in parts {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(part).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A DOCX file with the given content of its body.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    docx_with(body, &[])
}

/// A DOCX file with further parts.
pub(crate) fn docx_with(body: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let main = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
         xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><w:body>{body}</w:body></w:document>"
    );
    archive(&[&[("word/document.xml", main.as_bytes())], parts].concat())
}
