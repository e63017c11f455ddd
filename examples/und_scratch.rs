use std::io::{stdin, stdout, stderr};
use std::sync::Arc;
fn main() {
    let p = recall::understand::Pipeline::new(Arc::new(recall::domain::Ontology::parse(recall::understand::default_ontology()).unwrap()));
    if std::env::args().any(|a| a == "bench") {
        let lines: Vec<String> = stdin().lines().map(|l| serde_json::from_str::<serde_json::Value>(&l.unwrap()).unwrap()["text"].as_str().unwrap().to_owned()).collect();
        let mut t = Vec::new();
        for _ in 0..5 { for l in &lines { let s = std::time::Instant::now(); std::hint::black_box(p.read(l)); t.push(s.elapsed().as_micros()); } }
        t.sort(); println!("p50 {} us p99 {} us max {}", t[t.len()/2], t[t.len()*99/100], t[t.len()-1]);
        return;
    }
    let o = recall::understand::jsonl::run(stdin().lock(), stdout().lock(), stderr().lock(), &|i| p.extract(i)).unwrap();
    std::process::exit(if o.refused > 0 { 1 } else { 0 });
}
